// A transport that records its calls and lets a test intercept them.
import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"

interface WatchedCall {
  readonly method: string
  /** As sent by the messenger. */
  readonly input: MessageInitShape<DescMessage>
}

export interface WatchedTransport extends Transport {
  readonly calls: WatchedCall[]
  /** Called before a call is sent. An exception replaces the call. */
  before: ((call: WatchedCall) => Promise<unknown>) | undefined
  /** The method whose responses are lost, refusals included. */
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
