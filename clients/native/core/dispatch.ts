// Calls by name: decodes the request, runs the method, and emits the response or the failure.
import { create, type DescService, fromBinary, toBinary } from "@bufbuild/protobuf"
import { ClientFailureSchema } from "@signet/proto/client/v1/identity_service"
import { ArgumentError, failureFrom } from "./failure.ts"
import { emit, output } from "./host.ts"

// biome-ignore lint/suspicious/noExplicitAny: the table pairs each method with the handler of its own types
type AnyHandler = (request: any) => Promise<any>
type Call = (request: Uint8Array) => Promise<Uint8Array>

/** The methods of a service, by `Service/Method`. */
export function methodsOf(service: DescService, handlers: Readonly<Record<string, AnyHandler>>): [string, Call][] {
  const prefix = service.typeName.slice(service.typeName.lastIndexOf(".") + 1)
  return service.methods.map((method) => {
    const handler = handlers[method.localName]
    if (handler === undefined) throw new Error(`${prefix}/${method.name} has no handler`)
    return [
      `${prefix}/${method.name}`,
      async (bytes) => {
        const answer = await handler(parse(method.input, bytes))
        return toBinary(method.output, create(method.output, answer))
      },
    ]
  })
}

function parse(input: DescService["methods"][number]["input"], bytes: Uint8Array) {
  try {
    return fromBinary(input, bytes)
  } catch {
    throw new ArgumentError(`the request is no ${input.typeName}`)
  }
}

/** Runs a call, and emits its answer. */
export async function answer(id: number, work: () => Promise<Uint8Array>): Promise<void> {
  let bytes: Uint8Array
  try {
    bytes = await work()
  } catch (error) {
    emit(output.REPLY_FAILURE, id, toBinary(ClientFailureSchema, failureFrom(error)))
    return
  }
  emit(output.REPLY, id, bytes)
}

export function callOf(methods: ReadonlyMap<string, Call>, name: string, request: Uint8Array): Promise<Uint8Array> {
  const call = methods.get(name)
  if (call === undefined) {
    throw new ArgumentError("there is no such method: name it as Service/Method", "UNKNOWN_METHOD")
  }
  return call(request)
}
