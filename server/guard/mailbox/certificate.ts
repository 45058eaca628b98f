// Determines the owner of an envelope key, from the envelope's certificate or a newer one.
import type { Reason } from "@signet/kernel/errors"
import { type EnvelopeCertificate, parseCertificateClaims } from "@signet/kernel/machine/envelope-certificate"
import type { Clock } from "@signet/kernel/ports"
import { createJwtVerifier, untimely } from "../jwt.ts"
import type { KeySet } from "../key-set.ts"
import { decodeObject } from "../strict-json.ts"
import type { TokenCrypto, VerifyKey } from "../token-crypto.ts"

export interface CertificateOptions {
  readonly issuer: string
  /** The service's keys for context tokens: `/.well-known/context-keys.json`. */
  readonly contextKeys: KeySet
  readonly crypto: TokenCrypto
  readonly clock: Clock
  /** Maximum number of verified certificates in memory. */
  readonly cacheSize: number
  /** Fetches the current certificate of a key from the service; undefined if there is none. */
  readonly findCertificate?: (kid: string) => Promise<string | undefined>
}

export interface Certified extends EnvelopeCertificate {
  readonly key: VerifyKey
}

/** A key causes at most one request in this time. */
const askAgainMs = 60_000

/** Returns the valid certificate of the key, or why there is none. */
type Certify = (kid: string, certificate: string) => Promise<Certified | Reason>

export function createCertify(options: CertificateOptions): Certify {
  const { issuer, crypto, findCertificate } = options
  const verify = createJwtVerifier<Certified>({
    ...options,
    keySet: options.contextKeys,
    typ: "ekc+jwt",
    async read(payload, nowMs) {
      if (payload.iss !== issuer) return "ISSUER_MISMATCH"
      const late = untimely(payload, nowMs)
      if (late !== undefined) return late
      const certificate = parseCertificateClaims(payload)
      if (typeof certificate === "string") return certificate
      try {
        return { ...certificate, key: await crypto.importKey(certificate) }
      } catch {
        return "ENVELOPE_CERTIFICATE_INVALID"
      }
    },
  })
  // Certificates that are newer than those in envelopes; undefined for a key without one.
  const found = new Map<string, { readonly certificate: string | undefined; readonly askedAtMs: number }>()

  async function certified(kid: string, certificate: string): Promise<Certified | Reason> {
    const known = await verify(certificate)
    if (typeof known === "string") return certificateReason(known)
    return known.kid === kid ? known : "ENVELOPE_CERTIFICATE_INVALID"
  }

  return async (kid, certificate) => {
    const known = await certified(kid, certificate)
    // Only an expired certificate with a valid signature for this key causes a request.
    if (known !== "ENVELOPE_CERTIFICATE_EXPIRED" || findCertificate === undefined) return known
    if (kidOf(certificate) !== kid) return "ENVELOPE_CERTIFICATE_INVALID"
    const kept = found.get(kid)
    if (kept !== undefined) {
      const newer = kept.certificate === undefined ? "ENVELOPE_KEY_REVOKED" : await certified(kid, kept.certificate)
      const isAsked = options.clock.nowMs() - kept.askedAtMs < askAgainMs
      if (isAsked || (newer !== "ENVELOPE_CERTIFICATE_EXPIRED" && kept.certificate !== undefined)) return newer
    }
    try {
      const certificate = await findCertificate(kid)
      for (const oldest of found.keys()) {
        if (found.size < options.cacheSize) break
        found.delete(oldest)
      }
      if (options.cacheSize > 0) found.set(kid, { certificate, askedAtMs: options.clock.nowMs() })
      return certificate === undefined ? "ENVELOPE_KEY_REVOKED" : await certified(kid, certificate)
    } catch {
      return "UNAVAILABLE"
    }
  }
}

/** Returns the kid of a certificate whose signature was verified. */
function kidOf(certificate: string): string | undefined {
  const [, payload = ""] = certificate.split(".")
  const claims = parseCertificateClaims(decodeObject(payload)?.object ?? {})
  return typeof claims === "string" ? undefined : claims.kid
}

function certificateReason(reason: Reason): Reason {
  if (reason === "UNAVAILABLE") return reason
  return reason === "TOKEN_EXPIRED" ? "ENVELOPE_CERTIFICATE_EXPIRED" : "ENVELOPE_CERTIFICATE_INVALID"
}
