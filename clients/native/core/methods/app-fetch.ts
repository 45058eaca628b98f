// Calls of the app's own services, with an access token that stays in the core.
import type { MessageInitShape } from "@bufbuild/protobuf"
import type { Session } from "@signet/client"
import type { FetchRequest, FetchResponseSchema, IdentityOptions } from "@signet/proto/client/v1/identity_service"
import { SignetError } from "../../../core/errors.ts"
import { isTlsOrLoopback } from "../../../core/service-url.ts"
import { perform } from "../effects.ts"
import { ArgumentError } from "../failure.ts"
import { HostError } from "../host.ts"

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
const limitMs = 120_000

type Answer = MessageInitShape<typeof FetchResponseSchema>

export function appFetch(session: Session, options: IdentityOptions): (request: FetchRequest) => Promise<Answer> {
  const { authBaseUrl, authAudience, serviceOrigins } = options
  const own = authAudience === "" ? "auth" : authAudience
  return async ({ audience, method, url, headers, body }) => {
    const target = URL.canParse(url) ? new URL(url) : undefined
    if (target === undefined || !isTlsOrLoopback(target) || target.username !== "" || target.password !== "") {
      throw new ArgumentError("url must be https, or http for a loopback address, without credentials")
    }
    // A service with the auth service's token could act as the user there.
    const isOwn = audience === "" || audience === own
    const origins = isOwn ? [new URL(authBaseUrl).origin] : serviceOrigins
    if (!origins.includes(target.origin)) {
      throw new ArgumentError(
        isOwn ? "audience must be that of the service at url" : "the origin of url is not among service_origins",
      )
    }
    if (!methods.includes(method)) throw new ArgumentError(`method must be one of ${methods.join(", ")}`)
    const refused = headers.find(({ name }) => /^(authorization|cookie)$/i.test(name))
    if (refused !== undefined) throw new ArgumentError(`headers must not have ${refused.name.toLowerCase()}`)
    const token = await session.accessToken(isOwn ? undefined : audience)
    const sent = headers.map(({ name, value }) => ({ name: name.toLowerCase(), value }))
    sent.push({ name: "authorization", value: `Bearer ${token}` })
    const value = { method, url: target.href, headers: sent, body, timeoutMs: limitMs }
    try {
      const answer = await perform({ case: "http", value }, "http")
      return {
        status: answer.status,
        headers: answer.headers.map(({ name, value: text }) => ({ name, value: text })),
        body: answer.body,
      }
    } catch (error) {
      if (!(error instanceof HostError) || error.reason === "HOST_REFUSED") throw error
      throw new SignetError("UNREACHABLE", "the service did not answer", { cause: error })
    }
  }
}
