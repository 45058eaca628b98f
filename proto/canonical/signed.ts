import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf"
import { SignatureScheme, type SignedBytesV1, SignedBytesV1Schema } from "@signet/proto/credential/v1/signed"
import { concat, utf8 } from "./bytes.ts"
import { decode, encode } from "./canonical.ts"
import type { Signer, SyncSigner } from "./ed25519.ts"
import { CanonicalError, ensure } from "./errors.ts"
import { keyIdOf } from "./hash.ts"
import { rulesOf } from "./rules.ts"

const zero = Uint8Array.of(0)

/**
 * Returns the bytes to sign: SIG(label, body) = "SIGNET1" 00 label 00 u32be(len(body)) body.
 *
 * The label comes from the schema, so a signature of one kind of body never verifies for another.
 */
export function signatureInput(schema: DescMessage, body: Uint8Array): Uint8Array {
  const { label } = rulesOf(schema)
  if (label === "") throw new CanonicalError("CPB_SCHEMA", `${schema.typeName} has no label`)
  const length = new Uint8Array(4)
  new DataView(length.buffer).setUint32(0, body.length)
  return concat(utf8("SIGNET1"), zero, utf8(label), zero, length, body)
}

/** Encodes and signs a body. Returns the canonical bytes of a SignedBytesV1. */
export async function sign<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
  signer: Signer,
): Promise<Uint8Array> {
  const body = encode(schema, message)
  return assemble(body, signer, await signer.sign(signatureInput(schema, body)))
}

/** Synchronous `sign`. */
export function signNow<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
  signer: SyncSigner,
): Uint8Array {
  const body = encode(schema, message)
  return assemble(body, signer, signer.sign(signatureInput(schema, body)))
}

function assemble(body: Uint8Array, { publicKey }: Signer, signature: Uint8Array): Uint8Array {
  const keyId = keyIdOf(publicKey)
  return encode(
    SignedBytesV1Schema,
    create(SignedBytesV1Schema, { body, scheme: SignatureScheme.ED25519, keyId, signature }),
  )
}

/**
 * Decodes the envelope of signed bytes without verifying it.
 *
 * @throws CanonicalError CPB_*
 */
export function parseSigned(schema: DescMessage, bytes: Uint8Array): SignedBytesV1 {
  const signed = decode(SignedBytesV1Schema, bytes)
  ensure(signed.body.length <= rulesOf(schema).maxSize, "CPB_TOO_LARGE", schema.name)
  return signed
}
