// Verifies statements of the audit offline, with given keys: also with keys that are no longer published.
import { createPublicKey, verify } from "node:crypto"
import { type CheckpointClaims, checkpointType } from "@signet/kernel/audit/checkpoint"
import type { PublicJwk } from "@signet/kernel/keys/ports"

/** Returns the claims of a checkpoint; undefined if it is malformed, or none of the keys has signed it. */
export function openCheckpoint(jws: string, keys: readonly PublicJwk[]): CheckpointClaims | undefined {
  const [header = "", payload = "", signature = "", ...more] = jws.split(".")
  const { alg, typ, kid } = objectIn(header)
  const key = keys.find((one) => one.kid === kid)
  if (more.length > 0 || alg !== "ES256" || typ !== checkpointType || key === undefined) return undefined
  const { kty, crv, x, y } = key
  const publicKey = createPublicKey({ key: { kty, crv, x, y }, format: "jwk" })
  const isSigned = verify(
    "sha256",
    Buffer.from(`${header}.${payload}`),
    { key: publicKey, dsaEncoding: "ieee-p1363" },
    Buffer.from(signature, "base64url"),
  )
  return isSigned ? claimsIn(objectIn(payload)) : undefined
}

function claimsIn({ iss, iat, number, prev, root, heads }: Record<string, unknown>): CheckpointClaims | undefined {
  const isPrev = prev === null || typeof prev === "string"
  if (typeof iss !== "string" || typeof root !== "string" || !isPrev) return undefined
  if (typeof iat !== "number" || typeof number !== "number" || typeof heads !== "number") return undefined
  return { iss, iat, number, prev, root, heads }
}

function objectIn(part: string): Record<string, unknown> {
  try {
    return { ...JSON.parse(Buffer.from(part, "base64url").toString("utf8")) }
  } catch {
    return {}
  }
}
