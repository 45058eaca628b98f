// What the parts of the stand-in for IDP_B share.
import type { Clock } from "@signet/kernel/ports"
import type { JWTPayload } from "jose"
import { type IdpBClient, idpBClients, idpBIssuers } from "./idp-b-clients.ts"
import { createGrants, type Grant, type Grants } from "./idp-b-grants.ts"
import { createIdpBKeys, type IdpBKeys, type TeamKey } from "./idp-b-keys.ts"
import { idpBClaimsOf, idpBSubjectOf } from "./idp-b-person.ts"

/** How the provider behaves; may be changed at any time. */
export interface Switches {
  /** It answers 503, in HTML. */
  down: boolean
  /** It answers so much later, in milliseconds. */
  delayMs: number
  /** Whose its tokens say they are. */
  issuer: "first" | "second"
}

export interface IdpBState {
  readonly clock: Clock
  readonly clients: readonly IdpBClient[]
  readonly grants: Grants
  readonly keys: IdpBKeys
  readonly teamKey: TeamKey
  readonly switches: Switches
  issuer(): string
  /** An identity token. */
  mint(of: Grant & { nonce: string | undefined }): Promise<string>
}

/** The provider's tokens live for a day. */
const lifeSeconds = 86_400

export async function startIdpB(options: {
  clock: Clock
  origin: string
  teamKey: TeamKey
  switches: Switches
}): Promise<IdpBState> {
  const { clock, switches, teamKey } = options
  const keys = await createIdpBKeys()
  const issuer = () => idpBIssuers[switches.issuer === "first" ? 0 : 1]
  return {
    clock,
    switches,
    teamKey,
    keys,
    issuer,
    clients: idpBClients(options.origin),
    grants: createGrants(clock.nowMs),
    mint({ clientId, person, nonce }) {
      const iat = Math.floor(clock.nowMs() / 1000)
      const claims: JWTPayload = {
        iss: issuer(),
        aud: clientId,
        exp: iat + lifeSeconds,
        iat,
        sub: idpBSubjectOf(person),
        ...(nonce === undefined ? {} : { nonce }),
        nonce_supported: true,
        auth_time: iat,
        ...idpBClaimsOf(person),
      }
      return keys.sign(claims)
    },
  }
}
