import { type Verify, verifyEd25519 } from "@signet/canonical/ed25519"
import { type Extension, isDefaultExtension, readExtensions } from "./extension.ts"
import { verifyLabeled } from "./labeled.ts"
import { maxInside } from "./limits.ts"
import { opaque, type Reader, refuse, since, uint8, uint16, uint16s, uint64 } from "./reader.ts"
import { uint32Bytes, vectorBytes } from "./writer.ts"

/** MLS_128_DHKEMX25519_AES128GCM_SHA256_Ed25519 (RFC 9420 section 17.1), the only suite of V1. */
export const cipherSuite = 1
const mls10 = 1
const basicCredential = 1

/** A client's capabilities beyond the defaults (RFC 9420 section 7.2), as numbers of the registries of section 17. */
export interface Capabilities {
  readonly versions: readonly number[]
  readonly cipherSuites: readonly number[]
  readonly extensions: readonly number[]
  readonly proposals: readonly number[]
  readonly credentials: readonly number[]
}

/** How a leaf entered the tree: by a key package or by a commit's path. V1 has no Update proposals. */
type LeafSource =
  /** Lifetime in Unix seconds. */
  | { readonly kind: "key_package"; readonly notBefore: bigint; readonly notAfter: bigint }
  /** 32 bytes, or empty if the tree has no other member. */
  | { readonly kind: "commit"; readonly parentHash: Uint8Array }

/** RFC 9420 section 7.2. */
export interface LeafNode {
  /** The encoded LeafNode, exactly as received. */
  readonly bytes: Uint8Array
  /** X25519, 32 bytes. */
  readonly encryptionKey: Uint8Array
  /** Ed25519, 32 bytes. */
  readonly signatureKey: Uint8Array
  /** The content of the basic credential (section 5.3): a signed device credential. The caller must verify it. */
  readonly identity: Uint8Array
  readonly capabilities: Capabilities
  readonly source: LeafSource
  readonly extensions: readonly Extension[]
  /** Ed25519, 64 bytes. */
  readonly signature: Uint8Array
  /** LeafNodeTBS without the group-specific part. */
  readonly signed: Uint8Array
}

/**
 * Parses a leaf and makes the checks of section 7.3 that need no other data. `verifyLeafNode` verifies its signature.
 */
export function readLeafNode(reader: Reader): LeafNode {
  const start = reader.at
  const encryptionKey = opaque(reader, "leaf_node.encryption_key", 32)
  const signatureKey = opaque(reader, "leaf_node.signature_key", 32)
  const identity = readIdentity(reader)
  const capabilities = readCapabilities(reader)
  const source = readSource(reader)
  const extensionsAt = reader.at
  const extensions = readExtensions(reader, "leaf_node.extensions", maxInside.leafExtensions)
  if (leafElements({ capabilities, extensions }) > maxInside.leafElements) {
    refuse(reader, "MLS_TOO_LARGE", "leaf_node: capabilities and extensions", start)
  }
  const supported = extensions.every(({ type }) => supportsExtension(capabilities, type))
  if (!supported) refuse(reader, "MLS_MALFORMED", "leaf_node.extensions: not in its capabilities", extensionsAt)
  const signed = since(reader, start)
  const signature = opaque(reader, "leaf_node.signature", 64)
  const bytes = since(reader, start)
  if (bytes.length > maxInside.leaf) refuse(reader, "MLS_TOO_LARGE", "leaf_node", start)
  return { bytes, encryptionKey, signatureKey, identity, capabilities, source, extensions, signature, signed }
}

/** Number of entries in the capability lists, and of extensions. */
export function leafElements({ capabilities, extensions }: Pick<LeafNode, "capabilities" | "extensions">): number {
  const { versions, cipherSuites, proposals, credentials } = capabilities
  const lists = [versions, cipherSuites, capabilities.extensions, proposals, credentials, extensions]
  return lists.reduce((sum, list) => sum + list.length, 0)
}

function readIdentity(reader: Reader): Uint8Array {
  const start = reader.at
  const type = uint16(reader, "credential_type")
  if (type !== basicCredential) refuse(reader, "MLS_UNSUPPORTED", "credential_type: only basic is used", start)
  return opaque(reader, "credential.identity")
}

function readCapabilities(reader: Reader): Capabilities {
  const start = reader.at
  const versions = uint16s(reader, "capabilities.versions", maxInside.leafKinds.versions)
  const cipherSuites = uint16s(reader, "capabilities.cipher_suites", maxInside.leafKinds.cipherSuites)
  const extensions = uint16s(reader, "capabilities.extensions", maxInside.leafElements)
  const proposals = uint16s(reader, "capabilities.proposals", maxInside.leafElements)
  const credentials = uint16s(reader, "capabilities.credentials", maxInside.leafKinds.credentials)
  // MLS allows further versions, but the clients' engine cannot read them.
  const only = versions.length > 0 && versions.every((version) => version === mls10)
  if (!only) refuse(reader, "MLS_UNSUPPORTED", "capabilities.versions", start)
  if (!cipherSuites.includes(cipherSuite)) refuse(reader, "MLS_UNSUPPORTED", "capabilities.cipher_suites", start)
  if (!credentials.includes(basicCredential)) refuse(reader, "MLS_UNSUPPORTED", "capabilities.credentials", start)
  return { versions, cipherSuites, extensions, proposals, credentials }
}

function readSource(reader: Reader): LeafSource {
  const start = reader.at
  const source = uint8(reader, "leaf_node_source")
  switch (source) {
    case 1: {
      const notBefore = uint64(reader, "lifetime.not_before")
      return { kind: "key_package", notBefore, notAfter: uint64(reader, "lifetime.not_after") }
    }
    case 2:
      return refuse(reader, "MLS_UNSUPPORTED", "leaf_node_source: updates are not used", start)
    case 3:
      return { kind: "commit", parentHash: readParentHash(reader) }
    default:
      return refuse(reader, "MLS_MALFORMED", "leaf_node_source", start)
  }
}

/** A parent hash (RFC 9420 section 7.9): 32 bytes, or empty directly below the root. */
export function readParentHash(reader: Reader): Uint8Array {
  const start = reader.at
  const hash = opaque(reader, "parent_hash")
  if (hash.length !== 0 && hash.length !== 32) refuse(reader, "MLS_MALFORMED", "parent_hash", start)
  return hash
}

/** True if a client supports this extension in a group or a leaf. */
export function supportsExtension({ extensions }: Capabilities, type: number): boolean {
  return isDefaultExtension(type) || extensions.includes(type)
}

/** The position that the leaf of a commit is signed for. */
interface LeafPlace {
  readonly groupId: Uint8Array
  readonly leafIndex: number
}

/**
 * Verifies a leaf's signature with its own key (RFC 9420 section 7.2, LeafNodeTBS).
 *
 * @param place Required for the leaf of a commit, which is valid only there. A key package's leaf has none.
 */
export function verifyLeafNode(leaf: LeafNode, place?: LeafPlace, verify: Verify = verifyEd25519): boolean {
  const { signed, signature, source } = leaf
  const parts = [signed]
  if (source.kind === "commit") {
    if (place === undefined) return false
    parts.push(vectorBytes(place.groupId), uint32Bytes(place.leafIndex))
  }
  return verifyLabeled(verify, leaf.signatureKey, { label: "LeafNodeTBS", parts, signature })
}
