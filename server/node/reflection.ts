// grpc.reflection.v1 and v1alpha, for tools without a copy of the contract.
import {
  clone,
  create,
  createFileRegistry,
  createRegistry,
  type DescFile,
  type DescMethod,
  type DescMethodBiDiStreaming,
  type DescService,
  fromBinary,
  type Message,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf"
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt"
import type { ConnectRouter } from "@connectrpc/connect"
import {
  file_grpc_reflection_v1_reflection,
  ServerReflection,
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema,
} from "@signet/proto/grpc/reflection/v1/reflection"
import type { Routes } from "../serving/collect.ts"

type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]>

/** gRPC status codes in reflection's error responses. */
const notFound = 5
const unimplemented = 12

/** Serves the list of services and their schemas. */
export function reflectionRoutes(services: readonly DescService[]): Routes {
  const answer = answerer(services)
  const respond = (request: ServerReflectionRequest) =>
    create(ServerReflectionResponseSchema, {
      validHost: request.host,
      originalRequest: request,
      messageResponse: answer(request),
    })
  return (router: ConnectRouter) => {
    router.service(ServerReflection, {
      async *serverReflectionInfo(requests) {
        for await (const request of requests) yield respond(request)
      },
    })
    const method = alphaMethod()
    router.rpc(method, async function* (requests: AsyncIterable<Message>) {
      // Both versions have the same encoding.
      for await (const request of requests) {
        const response = respond(fromBinary(ServerReflectionRequestSchema, toBinary(method.input, request)))
        yield fromBinary(method.output, toBinary(ServerReflectionResponseSchema, response))
      }
    })
  }
}

/** The same method under its old name, which most tools try first. */
function alphaMethod(): DescMethodBiDiStreaming {
  const file = clone(FileDescriptorProtoSchema, file_grpc_reflection_v1_reflection.proto)
  const renamed = (name: string) => name.replace("grpc.reflection.v1.", "grpc.reflection.v1alpha.")
  file.name = "grpc/reflection/v1alpha/reflection.proto"
  file.package = "grpc.reflection.v1alpha"
  for (const message of file.messageType) for (const field of message.field) field.typeName = renamed(field.typeName)
  for (const method of file.service.flatMap((service) => service.method)) {
    method.inputType = renamed(method.inputType)
    method.outputType = renamed(method.outputType)
  }
  const service = createFileRegistry(file, () => undefined).getService("grpc.reflection.v1alpha.ServerReflection")
  const method = service?.methods[0]
  if (method === undefined || !isBidi(method)) throw new Error("the reflection service has no method")
  return method
}

function answerer(services: readonly DescService[]): (request: ServerReflectionRequest) => Answer {
  const files = new Map<string, DescFile>()
  for (const { file } of services) collectFiles(file, files)
  const types = createRegistry(...files.values())
  const bytes = new Map<DescFile, Uint8Array[]>()

  const fileOf = (symbol: string): DescFile | undefined => {
    const direct = types.get(symbol)
    if (direct !== undefined) return direct.file
    // A method, field or enum value: use the file of its parent.
    const owner = symbol.slice(0, Math.max(0, symbol.lastIndexOf(".")))
    const found = types.get(owner)
    const name = symbol.slice(owner.length + 1)
    return found?.kind === "service" && found.methods.some((method) => method.name === name) ? found.file : undefined
  }
  const describe = (file: DescFile | undefined): Answer => {
    if (file === undefined) return failure(notFound, "not found")
    const known = bytes.get(file) ?? [...collectFiles(file, new Map()).values()].map(serialized)
    bytes.set(file, known)
    return { case: "fileDescriptorResponse", value: { fileDescriptorProto: known } }
  }
  return ({ messageRequest: asked }) => {
    switch (asked.case) {
      case "listServices":
        return {
          case: "listServicesResponse",
          value: { service: services.map(({ typeName }) => ({ name: typeName })) },
        }
      case "fileByFilename":
        return describe([...files.values()].find(({ proto }) => proto.name === asked.value))
      case "fileContainingSymbol":
        return describe(fileOf(asked.value))
      case "fileContainingExtension": {
        const extendee = types.getMessage(asked.value.containingType)
        return describe(extendee && types.getExtensionFor(extendee, asked.value.extensionNumber)?.file)
      }
      default:
        return failure(unimplemented, "not supported")
    }
  }
}

const isBidi = (method: DescMethod): method is DescMethodBiDiStreaming => method.methodKind === "bidi_streaming"

const failure = (errorCode: number, errorMessage: string): Answer => ({
  case: "errorResponse",
  value: { errorCode, errorMessage },
})

const serialized = (file: DescFile): Uint8Array => toBinary(FileDescriptorProtoSchema, file.proto)

/** A file and all its imports, by name. */
function collectFiles(file: DescFile, into: Map<string, DescFile>): Map<string, DescFile> {
  if (!into.has(file.proto.name)) {
    into.set(file.proto.name, file)
    for (const imported of file.dependencies) collectFiles(imported, into)
  }
  return into
}
