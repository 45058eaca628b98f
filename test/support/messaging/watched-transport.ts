// A network that writes down what it carries, and lets a test step in.
import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"

export interface WatchedCall {
  readonly method: string
  /** As the messenger made it. */
  readonly input: MessageInitShape<DescMessage>
}

export interface WatchedTransport extends Transport {
  readonly calls: WatchedCall[]
  /** What is done before a call goes out: what it throws comes instead of the call. */
  before: ((call: WatchedCall) => Promise<unknown>) | undefined
  /** Whose answers are lost on their way back, also refusals. */
  losing: string | undefined
  /** The inputs of the calls of one method, in order. */
  inputsOf<Input>(method: string): Input[]
}

export function watchedTransport(transport: Transport): WatchedTransport {
  const watched: WatchedTransport = {
    calls: [],
    before: undefined,
    losing: undefined,
    inputsOf: <Input>(method: string) =>
      watched.calls.filter((call) => call.method === method).map(({ input }) => input as Input),
    async unary(method, signal, timeoutMs, header, input, values) {
      const call = { method: method.name, input }
      watched.calls.push(call)
      await watched.before?.(call)
      const answer = await transport.unary(method, signal, timeoutMs, header, input, values).catch((error: unknown) => {
        if (watched.losing !== method.name) throw error
      })
      if (answer !== undefined && watched.losing !== method.name) return answer
      throw new ConnectError("the answer is lost", Code.Unavailable)
    },
    stream: (...call) => transport.stream(...call),
  }
  return watched
}
