import type { DescMessage, MessageShape } from "@bufbuild/protobuf"
import type { SignedBytesV1 } from "@signet/proto/credential/v1/signed"
import { equalBytes } from "./bytes.ts"
import { decode } from "./canonical.ts"
import { ensure, refusingAs } from "./errors.ts"
import { keyIdOf } from "./hash.ts"
import { parseSigned, signatureInput } from "./signed.ts"

/** What devices sign, by the prefix of its refusals. */
export type DeviceSignedPrefix = "REQUEST" | "DEVICE_PROOF"

/**
 * Parses what a device signed, NOT yet verified: the body is decoded first only because it may name the key itself.
 * The signature is over `input`, which holds the bytes that were decoded.
 *
 * @throws CanonicalError _MALFORMED
 */
export function openSelfSigned<Desc extends DescMessage>(
  prefix: DeviceSignedPrefix,
  schema: Desc,
  bytes: Uint8Array,
): { signed: SignedBytesV1; body: MessageShape<Desc>; input: Uint8Array } {
  return refusingAs(`${prefix}_MALFORMED`, () => {
    const signed = parseSigned(schema, bytes)
    return { signed, body: decode(schema, signed.body), input: signatureInput(schema, signed.body) }
  })
}

/** @throws CanonicalError _KEY_MISMATCH unless the envelope names this key. */
export function ensureKeyId(prefix: DeviceSignedPrefix, signed: SignedBytesV1, publicKey: Uint8Array): void {
  ensure(equalBytes(signed.keyId, keyIdOf(publicKey)), `${prefix}_KEY_MISMATCH`)
}
