import type { DescMessage, MessageShape } from "@bufbuild/protobuf"
import { equalBytes } from "./bytes.ts"
import { decode } from "./canonical.ts"
import { type Verify, verifyEd25519 } from "./ed25519.ts"
import { ensure, rethrowAs } from "./errors.ts"
import { keyIdOf } from "./hash.ts"
import { parseSigned, signatureInput } from "./signed.ts"

/** The kinds of messages that devices sign, by the prefix of their error codes. */
type DeviceSignedPrefix = "REQUEST" | "DEVICE_PROOF"

/**
 * Opens a message that a device signed with its leaf key. Checks envelope, key and signature, then decodes the body
 * from exactly the verified bytes.
 *
 * @throws CanonicalError, in this order: _MALFORMED (envelope), _KEY_MISMATCH, _BAD_SIGNATURE, _MALFORMED (body)
 */
export function openSelfSigned<Desc extends DescMessage>(
  prefix: DeviceSignedPrefix,
  schema: Desc,
  bytes: Uint8Array,
  leafKey: Uint8Array,
  verify: Verify = verifyEd25519,
): MessageShape<Desc> {
  const signed = rethrowAs(`${prefix}_MALFORMED`, () => parseSigned(schema, bytes))
  ensure(equalBytes(signed.keyId, keyIdOf(leafKey)), `${prefix}_KEY_MISMATCH`)
  const good = verify(leafKey, signatureInput(schema, signed.body), signed.signature)
  ensure(good === true, `${prefix}_BAD_SIGNATURE`)
  return rethrowAs(`${prefix}_MALFORMED`, () => decode(schema, signed.body))
}
