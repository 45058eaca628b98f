import type { Message } from "@bufbuild/protobuf"
import type { GenMessage } from "@bufbuild/protobuf/codegenv2"
import type { IssuerKeyV1, KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import { equalBytes, toHex } from "./bytes.ts"
import { decode } from "./canonical.ts"
import { type Verify, verifyEd25519 } from "./ed25519.ts"
import { CanonicalError, ensure, rethrowAs } from "./errors.ts"
import { parseSigned, signatureInput } from "./signed.ts"

/** An issuer's keys, from a verified key set (issuer-keys.ts). */
export interface IssuerKeys {
  /** 16 bytes. */
  readonly issuerId: Uint8Array
  /** The version of the set and H("issuer-keys", signed bytes), which clients store against a rollback. */
  readonly version: bigint
  readonly hash: Uint8Array
  /** By key id in hexadecimal. */
  readonly keys: ReadonlyMap<string, IssuerKeyV1>
}

/** The kinds of messages that issuers sign, by the prefix of their error codes. */
type IssuedPrefix = "CRED" | "PROOF" | "RECEIPT" | "TICKET" | "LIST"

/** One kind of message that issuers sign. */
export interface IssuedKind<Body extends IssuedBody> {
  readonly prefix: IssuedPrefix
  readonly schema: GenMessage<Body>
  /** The purpose of the keys that may sign it. */
  readonly purpose: KeyPurpose
  /** Checks constraints between the fields of a body. @throws CanonicalError _MALFORMED */
  readonly ensureSound: (body: Body) => void
}

type IssuedBody = Message & { issuerId: Uint8Array }

/**
 * Opens a message that an issuer signed. Checks envelope, key, key purpose and signature, then decodes the body from
 * exactly the verified bytes and checks its issuer.
 *
 * `ensureKeyTime` checks the key's validity period separately, because some bodies contain the relevant time.
 *
 * @throws CanonicalError, in this order: _MALFORMED (envelope), _UNKNOWN_ISSUER_KEY, _ISSUER_KEY_PURPOSE,
 * _BAD_SIGNATURE, _MALFORMED (body), _WRONG_ISSUER
 */
export function openIssued<Body extends IssuedBody>(
  { prefix, schema, purpose, ensureSound }: IssuedKind<Body>,
  bytes: Uint8Array,
  issuer: IssuerKeys,
  verify: Verify = verifyEd25519,
): { readonly body: Body; readonly key: IssuerKeyV1 } {
  const signed = rethrowAs(`${prefix}_MALFORMED`, () => parseSigned(schema, bytes))
  const key = issuer.keys.get(toHex(signed.keyId))
  if (key === undefined) throw new CanonicalError(`${prefix}_UNKNOWN_ISSUER_KEY`)
  ensure(key.purpose === purpose, `${prefix}_ISSUER_KEY_PURPOSE`)
  const good = verify(key.key, signatureInput(schema, signed.body), signed.signature)
  ensure(good === true, `${prefix}_BAD_SIGNATURE`)
  const body = rethrowAs(`${prefix}_MALFORMED`, () => decode(schema, signed.body))
  ensureSound(body)
  ensure(equalBytes(body.issuerId, issuer.issuerId), `${prefix}_WRONG_ISSUER`)
  return { body, key }
}

/** @throws CanonicalError _ISSUER_KEY_NOT_VALID unless the key's not_before <= atSeconds < not_after. */
export function ensureKeyTime(prefix: IssuedPrefix, key: IssuerKeyV1, atSeconds: bigint): void {
  ensure(key.notBefore <= atSeconds && atSeconds < key.notAfter, `${prefix}_ISSUER_KEY_NOT_VALID`)
}
