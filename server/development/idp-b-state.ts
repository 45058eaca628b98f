// Shared state of the stand-in for IDP_B.
import type { Clock } from "@signet/kernel/ports"
import type { JWTPayload } from "jose"
import { type IdpBClient, idpBClients, idpBIssuers } from "./idp-b-clients.ts"
import { createGrants, type Grant, type Grants } from "./idp-b-grants.ts"
import { createIdpBKeys, type IdpBKeys, type TeamKey } from "./idp-b-keys.ts"
import { idpBClaimsOf, idpBSubjectOf } from "./idp-b-person.ts"

/** Switches of the provider's behavior; may change at any time. */
export interface Switches {
  /** Answers 503 with HTML. */
  down: boolean
  /** Delay of every answer, in milliseconds. */
  delayMs: number
  /** Selects the `iss` of its tokens. */
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
  /** Creates an identity token. */
  mint(of: Grant & { nonce: string | undefined }): Promise<string>
}

/** Lifetime of the provider's tokens: one day. */
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
