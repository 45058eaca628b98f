import type { Interceptor } from "@connectrpc/connect"

type Run = ReturnType<Interceptor>
type Answer = Awaited<ReturnType<Run>>

/**
 * Runs a call and reports its end: of a unary call with its answer, of a stream with its last message.
 *
 * @param end Called with the thrown value; with undefined for success and for a stream that its caller left.
 * @param within Runs each step of a stream, for contexts that follow the call.
 */
export async function settled(
  run: () => Promise<Answer>,
  end: (thrown: unknown) => void,
  within: <T>(step: () => T) => T = (step) => step(),
): Promise<Answer> {
  try {
    const answer = await within(run)
    if (answer.stream) return { ...answer, message: followed(answer.message, end, within) }
    end(undefined)
    return answer
  } catch (thrown) {
    end(thrown)
    throw thrown
  }
}

async function* followed<T>(
  messages: AsyncIterable<T>,
  end: (thrown: unknown) => void,
  within: <R>(step: () => R) => R,
): AsyncGenerator<T> {
  const iterator = messages[Symbol.asyncIterator]()
  let failure: unknown
  try {
    for (;;) {
      const step = await within(() => iterator.next())
      if (step.done) return
      yield step.value
    }
  } catch (thrown) {
    failure = thrown
    throw thrown
  } finally {
    await iterator.return?.()
    end(failure)
  }
}
