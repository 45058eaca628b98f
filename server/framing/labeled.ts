import { sha256 } from "@noble/hashes/sha2.js"
import { concat, utf8 } from "@signet/canonical/bytes"
import type { Verify } from "@signet/canonical/ed25519"
import { vectorBytes } from "./writer.ts"

/** The structures that members sign, each under its own label. */
type SignatureLabel = "FramedContentTBS" | "KeyPackageTBS" | "LeafNodeTBS" | "GroupInfoTBS"

/** SignContent (RFC 9420 section 5.1.2): the bytes that are signed. @param parts The content, in one or more pieces. */
function signContent(label: SignatureLabel, ...parts: readonly Uint8Array[]): Uint8Array {
  return concat(vectorBytes(utf8(`MLS 1.0 ${label}`)), vectorBytes(...parts))
}

/** The inputs of VerifyWithLabel besides the key (RFC 9420 section 5.1.2). */
export interface Signed {
  readonly label: SignatureLabel
  readonly parts: readonly Uint8Array[]
  readonly signature: Uint8Array
}

/** @param publicKey Ed25519, 32 bytes. A key of another length verifies nothing. */
export function verifyLabeled(verify: Verify, publicKey: Uint8Array, { label, parts, signature }: Signed): boolean {
  return verify(publicKey, signContent(label, ...parts), signature)
}

/** RefHash (RFC 9420 section 5.2), 32 bytes. */
export function refHash(label: string, value: Uint8Array): Uint8Array {
  return sha256(concat(vectorBytes(utf8(label)), vectorBytes(value)))
}
