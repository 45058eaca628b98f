import type { Message } from "@bufbuild/protobuf"
import type { GenMessage } from "@bufbuild/protobuf/codegenv2"
import type { IssuerKeyV1, KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import { equalBytes, toHex } from "./bytes.ts"
import { decode } from "./canonical.ts"
import { type Verify, verifyEd25519 } from "./ed25519.ts"
import { CanonicalError, ensure, refusingAs } from "./errors.ts"
import { parseSigned, signatureInput } from "./signed.ts"

/** The keys of an issuer, from a key set that was verified (issuer-keys.ts). */
export interface IssuerKeys {
  /** 16 bytes. */
  readonly issuerId: Uint8Array
  /** The version of the set, and H("issuer-keys", its signed bytes): what to remember against a rollback. */
  readonly version: bigint
  readonly hash: Uint8Array
  /** By key id in hexadecimal. */
  readonly keys: ReadonlyMap<string, IssuerKeyV1>
}

/** What issuers sign, by the prefix of its refusals. */
export type IssuedPrefix = "CRED" | "PROOF" | "RECEIPT" | "TICKET" | "LIST"

/** One kind of thing that issuers sign. */
export interface IssuedKind<Body extends IssuedBody> {
  readonly prefix: IssuedPrefix
  readonly schema: GenMessage<Body>
  /** The purpose of the keys that may sign it. */
  readonly purpose: KeyPurpose
  /** What must hold between the fields of a body. @throws CanonicalError _MALFORMED */
  readonly ensureSound: (body: Body) => void
}

type IssuedBody = Message & { issuerId: Uint8Array }

/**
 * Opens what an issuer signed: envelope, key, purpose of the key, signature, and then the body, decoded from the very
 * bytes that were verified, and its issuer.
 *
 * Whether the key was good at the time in question is for `ensureKeyTime`, since some bodies say the time themselves.
 *
 * @throws CanonicalError, in this order: _MALFORMED (envelope), _UNKNOWN_ISSUER_KEY, _ISSUER_KEY_PURPOSE,
 *   _BAD_SIGNATURE, _MALFORMED (body), _WRONG_ISSUER
 */
export function openIssued<Body extends IssuedBody>(
  { prefix, schema, purpose, ensureSound }: IssuedKind<Body>,
  bytes: Uint8Array,
  issuer: IssuerKeys,
  verify: Verify = verifyEd25519,
): { readonly body: Body; readonly key: IssuerKeyV1 } {
  const signed = refusingAs(`${prefix}_MALFORMED`, () => parseSigned(schema, bytes))
  const key = issuer.keys.get(toHex(signed.keyId))
  if (key === undefined) throw new CanonicalError(`${prefix}_UNKNOWN_ISSUER_KEY`)
  ensure(key.purpose === purpose, `${prefix}_ISSUER_KEY_PURPOSE`)
  const good = verify(key.key, signatureInput(schema, signed.body), signed.signature)
  ensure(good === true, `${prefix}_BAD_SIGNATURE`)
  const body = refusingAs(`${prefix}_MALFORMED`, () => decode(schema, signed.body))
  ensureSound(body)
  ensure(equalBytes(body.issuerId, issuer.issuerId), `${prefix}_WRONG_ISSUER`)
  return { body, key }
}

/** @throws CanonicalError _ISSUER_KEY_NOT_VALID unless not_before <= atSeconds < not_after of the key. */
export function ensureKeyTime(prefix: IssuedPrefix, key: IssuerKeyV1, atSeconds: bigint): void {
  ensure(key.notBefore <= atSeconds && atSeconds < key.notAfter, `${prefix}_ISSUER_KEY_NOT_VALID`)
}
