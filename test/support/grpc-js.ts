// Calls through @grpc/grpc-js by path and bytes, without stubs, transports or interceptors of ours.
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf"
import { anyUnpack } from "@bufbuild/protobuf/wkt"
import { type CallOptions, type Client, Metadata, type ServiceError, status } from "@grpc/grpc-js"
import { type ErrorInfo, ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { type Status, StatusSchema } from "@signet/proto/google/rpc/status"

export const pathOf = ({ parent, name }: DescMethodUnary | { parent: { typeName: string }; name: string }): string =>
  `/${parent.typeName}/${name}`

export const writer =
  <Desc extends DescMessage>(schema: Desc) =>
  (message: MessageInitShape<Desc>): Buffer =>
    Buffer.from(toBinary(schema, create(schema, message)))

export const reader =
  <Desc extends DescMessage>(schema: Desc) =>
  (bytes: Buffer): MessageShape<Desc> =>
    fromBinary(schema, bytes)

/** The metadata of an authenticated call. */
export function bearerMetadata(token: string): Metadata {
  const metadata = new Metadata()
  metadata.set("authorization", `Bearer ${token}`)
  return metadata
}

/** @throws ServiceError of grpc-js. */
export function callUnary<I extends DescMessage, O extends DescMessage>(
  client: Client,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  { metadata = new Metadata(), ...options }: CallOptions & { metadata?: Metadata } = {},
): Promise<MessageShape<O>> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      pathOf(method),
      writer(method.input),
      reader(method.output),
      request,
      metadata,
      options,
      (error, response) => {
        if (error) reject(error)
        else if (response) resolve(response)
      },
    )
  })
}

export interface Failure {
  readonly code: string | undefined
  /** As in the trailers (https://grpc.io/docs/guides/error/#richer-error-model). */
  readonly status: Status | undefined
  readonly info: ErrorInfo | undefined
}

/** Returns the failure of a call. Throws if the call succeeds. */
export async function failureOf(call: Promise<unknown>): Promise<Failure> {
  const error = await call.then(
    () => Promise.reject(new Error("the call did not fail")),
    (thrown: ServiceError) => thrown,
  )
  const [bytes] = error.metadata?.get("grpc-status-details-bin") ?? []
  const rich = Buffer.isBuffer(bytes) ? fromBinary(StatusSchema, bytes) : undefined
  const [info] = rich?.details.flatMap((detail) => anyUnpack(detail, ErrorInfoSchema) ?? []) ?? []
  return { code: status[error.code], status: rich, info }
}
