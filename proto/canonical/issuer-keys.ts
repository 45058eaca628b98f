import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { type IssuerKeySetBodyV1, IssuerKeySetBodyV1Schema } from "@signet/proto/credential/v1/issuer_key_set"
import { equalBytes, toHex } from "./bytes.ts"
import { decode } from "./canonical.ts"
import { isPublicKey, type Signer, type Verify, verifyEd25519 } from "./ed25519.ts"
import { CanonicalError, ensure, rethrowAs } from "./errors.ts"
import { hash, keyIdOf } from "./hash.ts"
import type { IssuerKeys } from "./issued.ts"
import { parseSigned, sign, signatureInput } from "./signed.ts"

export type { IssuerKeys } from "./issued.ts"

/** The verifier's own knowledge. */
export interface IssuerKeySetExpectation {
  /** The pinned root public keys, 32 bytes each. From the app's configuration, never from a server. */
  readonly roots: readonly Uint8Array[]
  readonly issuerId: Uint8Array
  /** Unix seconds. */
  readonly atSeconds: bigint
  /** The newest set seen before, if any. */
  readonly seen?: Pick<IssuerKeys, "version" | "hash"> | undefined
  readonly verify?: Verify
}

/**
 * Signs the keys of an issuer with a root key. Fills in key ids and format version.
 *
 * @throws CanonicalError ISSUER_KEYS_MALFORMED, CPB_*
 */
export async function issueIssuerKeySet(
  init: MessageInitShape<typeof IssuerKeySetBodyV1Schema>,
  root: Signer,
): Promise<Uint8Array> {
  const body = create(IssuerKeySetBodyV1Schema, init)
  body.version = 1
  for (const key of body.keys) key.keyId = keyIdOf(key.key)
  ensureSound(body, root.publicKey)
  return sign(IssuerKeySetBodyV1Schema, body, root)
}

/**
 * Verifies an issuer key set against the pinned roots.
 *
 * @throws CanonicalError ISSUER_KEYS_*, in the order of the list in errors.ts; _ROLLBACK for a lower version than the
 * one seen, _FORK for another set of the same version.
 */
export function verifyIssuerKeySet(bytes: Uint8Array, expected: IssuerKeySetExpectation): IssuerKeys {
  const signed = rethrowAs("ISSUER_KEYS_MALFORMED", () => parseSigned(IssuerKeySetBodyV1Schema, bytes))
  const root = expected.roots.find((key) => equalBytes(keyIdOf(key), signed.keyId))
  if (root === undefined) throw new CanonicalError("ISSUER_KEYS_UNKNOWN_ROOT")
  const verify = expected.verify ?? verifyEd25519
  const good = verify(root, signatureInput(IssuerKeySetBodyV1Schema, signed.body), signed.signature)
  ensure(good === true, "ISSUER_KEYS_BAD_SIGNATURE")
  const body = rethrowAs("ISSUER_KEYS_MALFORMED", () => decode(IssuerKeySetBodyV1Schema, signed.body))
  ensureSound(body, root)
  ensure(equalBytes(body.issuerId, expected.issuerId), "ISSUER_KEYS_WRONG_ISSUER")
  ensure(body.notBefore <= expected.atSeconds, "ISSUER_KEYS_NOT_YET_VALID")
  ensure(expected.atSeconds < body.notAfter, "ISSUER_KEYS_EXPIRED")
  const keys = {
    issuerId: body.issuerId,
    version: body.setVersion,
    hash: hash("issuer-keys", bytes),
    keys: new Map(body.keys.map((key) => [toHex(key.keyId), key])),
  }
  ensureNotBehind(keys, expected.seen)
  return keys
}

function ensureNotBehind(keys: IssuerKeys, seen: IssuerKeySetExpectation["seen"]): void {
  if (seen === undefined) return
  ensure(keys.version >= seen.version, "ISSUER_KEYS_ROLLBACK")
  ensure(keys.version > seen.version || equalBytes(keys.hash, seen.hash), "ISSUER_KEYS_FORK")
}

/** Each key occurs once with one purpose and its own key id, and no root is among the keys. */
function ensureSound(body: IssuerKeySetBodyV1, root: Uint8Array): void {
  ensure(body.notBefore < body.notAfter, "ISSUER_KEYS_MALFORMED", "not_after")
  const ids = new Set([toHex(keyIdOf(root))])
  for (const key of body.keys) {
    ensure(isPublicKey(key.key), "ISSUER_KEYS_MALFORMED", "key")
    ensure(equalBytes(key.keyId, keyIdOf(key.key)), "ISSUER_KEYS_MALFORMED", "key_id")
    ensure(key.notBefore < key.notAfter, "ISSUER_KEYS_MALFORMED", "key not_after")
    ensure(!ids.has(toHex(key.keyId)), "ISSUER_KEYS_MALFORMED", "key twice")
    ids.add(toHex(key.keyId))
  }
}
