// The auth service as the backend's handlers and objects call it (proto/signet/authority/v1). Without its answer a call
// is refused as UNAVAILABLE and changes nothing: each change is written after it was signed.
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
  /** The URL, without a trailing slash. */
  url: string
  /** This backend's service token, with the scope `auth.messaging.backend`. */
  token: ServiceToken
  fetch: typeof fetch
  /** The issuer's key set of this backend, verified under the pinned root. */
  issuerKeySet: () => Uint8Array | undefined
}): AuthService {
  const call = createCallAuth(of)
  const accounts = people(call)
  return { authority: signing(call, of.issuerKeySet), accounts, effects: accounts }
}
