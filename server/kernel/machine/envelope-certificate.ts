// Certificates for envelope keys: the key's owner, the owner's audiences, and the mailboxes it may post to.
import type { Reason } from "../errors.ts"
import { type AppId, type PrincipalId, parseId } from "../ids.ts"
import { isJson, isText, isTexts } from "../json.ts"
import { skewSeconds } from "../token/claims.ts"
import type { ServiceAccount } from "./records.ts"

/** Lifetime of a certificate in seconds. A service can fetch a new one at any time unless the key was revoked. */
export const certificateSeconds = 86_400

/** How long a revocation of a key or service must be remembered: until every earlier certificate has expired. */
export const longestCertificateMs = (certificateSeconds + skewSeconds) * 1_000

export interface EnvelopeCertificate {
  readonly kid: string
  readonly x: string
  readonly y: string
  readonly principalId: PrincipalId
  readonly clientId: string
  readonly appId: AppId
  /** Patterns of mailboxes. */
  readonly mailboxes: readonly string[]
  readonly ownedAudiences: readonly string[]
  /** Issue time in milliseconds since the Unix epoch. */
  readonly issuedAtMs: number
}

/** @param of.nowSeconds Seconds since the Unix epoch. */
export function buildCertificateClaims(of: {
  issuer: string
  account: Pick<ServiceAccount, "principalId" | "clientId" | "appId" | "ownedAudiences">
  key: { kid: string; x: string; y: string }
  mailboxes: readonly string[]
  nowSeconds: number
}): Readonly<Record<string, unknown>> {
  const { account, key } = of
  return {
    iss: of.issuer,
    sub: account.principalId,
    client_id: account.clientId,
    app_id: account.appId,
    // RFC 7800 section 3.2.
    cnf: { jwk: { kty: "EC", crv: "P-256", kid: key.kid, x: key.x, y: key.y } },
    mbx: [...of.mailboxes],
    own: [...account.ownedAudiences],
    iat: of.nowSeconds,
    nbf: of.nowSeconds,
    exp: of.nowSeconds + certificateSeconds,
  }
}

/** Returns the claims of a verified certificate, or why they are invalid. */
export function parseCertificateClaims(payload: Readonly<Record<string, unknown>>): EnvelopeCertificate | Reason {
  const { sub, client_id, app_id, cnf, mbx, own, iat, nbf, exp } = payload
  const principalId = typeof sub === "string" ? parseId("prn", sub) : undefined
  const appId = typeof app_id === "string" ? parseId("app", app_id) : undefined
  const jwk = isJson(cnf) && isJson(cnf.jwk) ? cnf.jwk : {}
  const { kid, x, y, kty, crv } = jwk
  if (principalId === undefined || appId === undefined || !isText(client_id)) return "ENVELOPE_CERTIFICATE_INVALID"
  if (kty !== "EC" || crv !== "P-256" || !isText(kid) || !isText(x) || !isText(y)) return "ENVELOPE_CERTIFICATE_INVALID"
  if (!isTexts(mbx) || !isTexts(own)) return "ENVELOPE_CERTIFICATE_INVALID"
  if (typeof iat !== "number" || typeof nbf !== "number" || typeof exp !== "number") {
    return "ENVELOPE_CERTIFICATE_INVALID"
  }
  if (exp - iat > certificateSeconds) return "ENVELOPE_CERTIFICATE_INVALID"
  const issuedAtMs = iat * 1_000
  return { kid, x, y, principalId, clientId: client_id, appId, mailboxes: mbx, ownedAudiences: own, issuedAtMs }
}
