import { concat, equalBytes } from "@signet/canonical/bytes"
import { type Verify, verifyEd25519 } from "@signet/canonical/ed25519"
import { type Extension, extensionData, lastResort, readExtensions } from "./extension.ts"
import { refHash, verifyLabeled } from "./labeled.ts"
import { cipherSuite, type LeafNode, leafElements, readLeafNode, verifyLeafNode } from "./leaf-node.ts"
import { maxBytes, maxInside } from "./limits.ts"
import { openMessage } from "./message.ts"
import { finish, opaque, type Reader, refuse, since, uint16 } from "./reader.ts"

/** RFC 9420 section 10. */
export interface KeyPackage {
  /** The encoded KeyPackage without its MLSMessage header. */
  readonly bytes: Uint8Array
  /** X25519, 32 bytes. Used once, except for a last resort. */
  readonly initKey: Uint8Array
  readonly leafNode: LeafNode
  /** Lifetime of the leaf, in Unix seconds. */
  readonly notBefore: bigint
  readonly notAfter: bigint
  readonly extensions: readonly Extension[]
  /** True if it has the last_resort extension. */
  readonly lastResort: boolean
  readonly signature: Uint8Array
  /** KeyPackageTBS. */
  readonly signed: Uint8Array
}

/** Parses a published key package: an MLSMessage of wire format mls_key_package. */
export function parseKeyPackage(bytes: Uint8Array, most: number = maxBytes.keyPackage): KeyPackage {
  const reader = openMessage(bytes, most, "mls_key_package")
  const keyPackage = readKeyPackage(reader)
  finish(reader, "the key package")
  return keyPackage
}

/**
 * Parses a KeyPackage inside another structure and makes the checks of RFC 9420 section 10.1 that need no key.
 * `verifyKeyPackage` verifies the signatures; the caller checks lifetime and credential.
 */
export function readKeyPackage(reader: Reader): KeyPackage {
  const start = reader.at
  const version = uint16(reader, "key_package.version")
  if (version !== 1) refuse(reader, "MLS_UNSUPPORTED", "key_package.version", start)
  readCipherSuite(reader)
  const initKey = opaque(reader, "init_key", 32)
  const leafAt = reader.at
  const leafNode = readLeafNode(reader)
  const { source } = leafNode
  if (source.kind !== "key_package") return refuse(reader, "MLS_MALFORMED", "leaf_node_source of a key package", leafAt)
  if (equalBytes(initKey, leafNode.encryptionKey)) refuse(reader, "MLS_MALFORMED", "init_key: also the leaf's", start)
  const extensions = readExtensions(reader, "key_package.extensions", maxInside.leafExtensions)
  if (leafElements(leafNode) + extensions.length > maxInside.leafElements) {
    refuse(reader, "MLS_TOO_LARGE", "key_package: capabilities and extensions", start)
  }
  const flag = extensionData(extensions, lastResort)
  if (flag !== undefined && flag.length > 0) refuse(reader, "MLS_MALFORMED", "last_resort: has no content")
  const signed = since(reader, start)
  const signature = opaque(reader, "key_package.signature", 64)
  const bytes = since(reader, start)
  if (bytes.length > maxBytes.keyPackage) refuse(reader, "MLS_TOO_LARGE", "key_package", start)
  const { notBefore, notAfter } = source
  return {
    bytes,
    initKey,
    leafNode,
    notBefore,
    notAfter,
    extensions,
    lastResort: flag !== undefined,
    signature,
    signed,
  }
}

export function readCipherSuite(reader: Reader): void {
  const start = reader.at
  if (uint16(reader, "cipher_suite") !== cipherSuite) refuse(reader, "MLS_UNSUPPORTED", "cipher_suite", start)
}

/** KeyPackageRef (RFC 9420 section 5.2), 32 bytes. Welcomes, claims and proofs identify a key package by it. */
export function keyPackageRef({ bytes }: KeyPackage): Uint8Array {
  return refHash("MLS 1.0 KeyPackage Reference", bytes)
}

/**
 * Verifies both signatures with the leaf's key: that of the leaf and that of the package (RFC 9420 sections 7.2 and
 * 10).
 */
export function verifyKeyPackage(keyPackage: KeyPackage, verify: Verify = verifyEd25519): boolean {
  const { leafNode, signed, signature } = keyPackage
  return (
    verifyLeafNode(leafNode, undefined, verify) &&
    verifyLabeled(verify, leafNode.signatureKey, { label: "KeyPackageTBS", parts: [signed], signature })
  )
}

const messageHead = Uint8Array.of(0, 1, 0, 5)

/** Encodes the MLSMessage that publishes a key package. */
export function keyPackageMessage({ bytes }: KeyPackage): Uint8Array {
  return concat(messageHead, bytes)
}
