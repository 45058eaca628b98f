// The auth service, as the handlers and the objects of this backend call it (proto/signet/authority/v1). Where it does not
// answer, what is asked is refused as UNAVAILABLE and nothing was done here: each change is written after it was signed.
import type { ServiceToken } from "@signet/guard/service-token"
import type { CredentialAuthority } from "@signet/kernel/messaging/authority"
import type { MessagingAccounts } from "@signet/kernel/messaging/ports"
import type { Effects } from "../../store/durable/effects.ts"
import { createCallAuth } from "./auth/call.ts"
import { people } from "./auth/people.ts"
import { signing } from "./auth/signing.ts"

export interface AuthService {
  readonly authority: CredentialAuthority
  readonly accounts: MessagingAccounts
  readonly effects: Effects
}

export function createAuthService(of: {
  /** Where it answers, without a slash at the end. */
  url: string
  /** This backend's own, with the scope `auth.messaging.backend`. */
  token: ServiceToken
  fetch: typeof fetch
  /** The issuer's key set that is held here, verified under the pinned root. */
  issuerKeySet: () => Uint8Array | undefined
}): AuthService {
  const call = createCallAuth(of)
  const accounts = people(call)
  return { authority: signing(call, of.issuerKeySet), accounts, effects: accounts }
}
