import { create, type Message } from "@bufbuild/protobuf"
import type { GenMessage } from "@bufbuild/protobuf/codegenv2"
import { SignatureScheme, SignedBytesV1Schema } from "@signet/proto/credential/v1/signed"
import { decode, encode } from "../../canonical.ts"
import type { SyncSigner } from "../../ed25519.ts"
import type { CanonicalCode } from "../../errors.ts"
import { keyIdOf } from "../../hash.ts"
import { signatureInput, signNow } from "../../signed.ts"

/** One verification with its result: a row of the refusals test and of the vectors. */
export interface Refusal {
  readonly kind: "issuer-keys" | "credential" | "proof" | "receipt" | "ticket" | "list" | "request" | "device-proof"
  readonly name: string
  readonly bytes: Uint8Array
  /** The verifier's expectation, without keys and functions. */
  readonly given: object
  readonly code: CanonicalCode | "ok"
  readonly verify: () => unknown
}

/** The rows of one kind: name, signed bytes, changes of the expectation, and result. */
export function table<Expectation extends object>(
  kind: Refusal["kind"],
  verify: (bytes: Uint8Array, expected: Expectation) => unknown,
  expected: Expectation,
  rows: readonly (readonly [
    name: string,
    bytes: Uint8Array,
    change: Partial<Expectation>,
    code: CanonicalCode | "ok",
    told?: object,
  ])[],
): Refusal[] {
  return rows.map(([name, bytes, change, code, told]) => {
    const given = { ...expected, ...change }
    const shown = Object.fromEntries(Object.entries({ ...given, ...told }).filter(([key]) => key !== "issuerKeys"))
    return { kind, name, bytes, given: shown, code, verify: () => verify(bytes, given) }
  })
}

/** The signed body with changed fields, signed again by any signer: what a faulty issuer could create. */
export function resigned<Body extends Message>(
  schema: GenMessage<Body>,
  signed: Uint8Array,
  change: Partial<Omit<Body, keyof Message>>,
  signer: SyncSigner,
): Uint8Array {
  const body = decode(schema, decode(SignedBytesV1Schema, signed).body)
  return signNow(schema, Object.assign(body, change), signer)
}

/** Arbitrary bytes as a body, validly signed. */
export function signedRaw(schema: GenMessage<Message>, body: Uint8Array, signer: SyncSigner): Uint8Array {
  const signature = signer.sign(signatureInput(schema, body))
  return envelope({ body, keyId: keyIdOf(signer.publicKey), signature })
}

/** The parts of a signed message. */
export function partsOf(signed: Uint8Array) {
  const { body, keyId, signature } = decode(SignedBytesV1Schema, signed)
  return { body, keyId, signature }
}

/** An envelope of arbitrary parts. */
export function envelope(parts: ReturnType<typeof partsOf>): Uint8Array {
  return encode(SignedBytesV1Schema, create(SignedBytesV1Schema, { ...parts, scheme: SignatureScheme.ED25519 }))
}

/** The signed bytes with one flipped bit in the signature's scalar. */
export function tampered(signed: Uint8Array): Uint8Array {
  return signed.map((byte, at) => (at === signed.length - 40 ? byte ^ 1 : byte))
}
