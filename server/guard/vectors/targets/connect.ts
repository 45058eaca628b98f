import { create } from "@bufbuild/protobuf"
import { WireType } from "@bufbuild/protobuf/wire"
import { ConnectError, createRouterTransport } from "@connectrpc/connect"
import { DenialSchema } from "@signet/proto/authz/v1/denial"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { createConnectGuard, kAuth } from "../../connect.ts"
import { isUnary, serviceWith } from "../../testing/methods.ts"
import { jsonOf, type Target } from "./target.ts"
import { wireOf } from "./wire.ts"

/** Empty fields that the schema does not have. */
const unknownFields = (names: readonly string[]) =>
  names.map((_, i) => ({ no: 1_000 + i, wireType: WireType.LengthDelimited, data: new Uint8Array(1) }))

export const connectTarget: Target = ({ requirement, ...world }) => {
  const service = serviceWith([wireOf(requirement)])
  const [method] = service.methods
  if (method === undefined || !isUnary(method)) throw new Error("no method")
  const { interceptor } = createConnectGuard({ ...world, services: [service] })
  const known: ReadonlySet<string> = new Set(method.input.fields.map((field) => field.localName))
  let caller: string | null = null
  const transport = createRouterTransport(
    (routes) => {
      routes.rpc(method, (_, { values }) => {
        caller = values.get(kAuth)?.principal.id ?? null
        return create(method.output)
      })
    },
    { router: { interceptors: [interceptor] } },
  )
  return async ({ authorization, request }) => {
    try {
      const header = new Headers(authorization === null ? {} : { authorization })
      // Field names as in generated code.
      const { tenant_id: tenantId, ...rest } = jsonOf(request)
      const message = create(method.input, { ...rest, ...(tenantId ? { tenantId } : {}) })
      message.$unknown = unknownFields(Object.keys(rest).filter((field) => !known.has(field)))
      await transport.unary(method, undefined, undefined, header, message)
      return { allow: true, caller }
    } catch (thrown) {
      const error = ConnectError.from(thrown)
      const [info] = error.findDetails(ErrorInfoSchema)
      const [denial] = error.findDetails(DenialSchema)
      return {
        allow: false,
        reason: info?.reason ?? error.message,
        status: denial?.statusCode ?? 0,
        message: denial?.safeMessage ?? "",
        metadata: { ...info?.metadata },
        challenge: error.metadata.get("www-authenticate"),
      }
    }
  }
}
