// State of the stand-in for IDP_B: codes, refresh tokens and consents. In memory; the oldest are evicted.
import { randomBytes } from "node:crypto"
import { type IdpBPerson, idpBSubjectOf } from "./idp-b-person.ts"

export interface Grant {
  clientId: string
  person: IdpBPerson
}

interface CodeGrant extends Grant {
  /** The redirect URI of the code; empty for the system dialog. */
  redirectUri: string
  /** As sent to the provider. */
  nonce: string | undefined
}

const codeLifeMs = 300_000
const maxKept = 1_000

export function createGrants(nowMs: () => number) {
  const codes = new Map<string, CodeGrant & { expiresAtMs: number }>()
  const refreshTokens = new Map<string, Grant>()
  const consents = new Set<string>()
  const nameOf = ({ clientId, person }: Grant) => `${clientId} ${idpBSubjectOf(person)}`

  return {
    /** True only for the first call until the user's consent is revoked. */
    consent(grant: Grant): boolean {
      const isFirst = !consents.has(nameOf(grant))
      consents.add(nameOf(grant))
      trim(consents)
      return isFirst
    },
    issueCode(grant: CodeGrant): string {
      const code = `c${randomBytes(24).toString("hex")}.0.${randomBytes(9).toString("base64url")}`
      codes.set(code, { ...grant, expiresAtMs: nowMs() + codeLifeMs })
      trim(codes)
      return code
    },
    /** Returns a code's grant once. */
    takeCode(code: string): CodeGrant | undefined {
      const found = codes.get(code)
      codes.delete(code)
      return found !== undefined && found.expiresAtMs > nowMs() ? found : undefined
    },
    issueRefreshToken(grant: Grant): string {
      const token = `r${randomBytes(24).toString("hex")}.0.${randomBytes(9).toString("base64url")}`
      refreshTokens.set(token, grant)
      trim(refreshTokens)
      return token
    },
    findRefreshToken: (token: string): Grant | undefined => refreshTokens.get(token),
    /** Revokes the consent and all refresh tokens based on it. */
    revoke(token: string, clientId: string): void {
      const grant = refreshTokens.get(token)
      if (grant === undefined || grant.clientId !== clientId) return
      consents.delete(nameOf(grant))
      for (const [other, of] of refreshTokens) if (nameOf(of) === nameOf(grant)) refreshTokens.delete(other)
    },
  }
}

export type Grants = ReturnType<typeof createGrants>

function trim(kept: Map<string, unknown> | Set<string>): void {
  for (const oldest of kept.keys()) {
    if (kept.size <= maxKept) return
    kept.delete(oldest)
  }
}
