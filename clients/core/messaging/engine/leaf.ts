import { maxLeafElements } from "@signet/canonical/leaf-elements"
import { type Kit, suiteName } from "./kit.ts"
import { demand } from "./refusal.ts"
import { decodeStrictly, maxBytes } from "./strict.ts"
import {
  type Capabilities,
  decodeRequiredCapabilities,
  type Extension,
  encodeRequiredCapabilities,
  extensionTypeToNumber,
  type LeafNode,
  verifyLeafNodeSignature,
} from "./ts-mls.ts"

/** GroupContext extension that binds a group to its conversation; private use (RFC 9420 section 17.3). */
export const conversationBinding = 0xf0a1
/** GroupInfo extension that carries the commit's membership proof to its joiners. */
export const membershipProof = 0xf0a2

/** A member, as its leaf describes it. */
export interface Member {
  readonly leaf: number
  /** The signed device credential in the leaf. The engine does not verify it. */
  readonly credential: Uint8Array
  /** Ed25519, 32 bytes. */
  readonly signatureKey: Uint8Array
}

export function memberOf(leaf: number, node: LeafNode): Member {
  return { leaf, credential: credentialOf(node), signatureKey: node.signaturePublicKey }
}

/** @throws MlsError MLS_BAD_LEAF for anything but a basic credential. */
export function credentialOf(node: LeafNode): Uint8Array {
  const { credential } = node
  demand(credential.credentialType === "basic", "MLS_BAD_LEAF", "only basic credentials are used")
  return credential.identity
}

/**
 * The capabilities of our own leaves: suite 1, basic credentials, our two extensions, and only the default proposals.
 */
export function ownCapabilities(): Capabilities {
  return {
    versions: ["mls10"],
    ciphersuites: [suiteName],
    extensions: [conversationBinding, membershipProof],
    proposals: [],
    credentials: ["basic"],
  }
}

/** Number of entries in the capability lists, and of extensions. */
export function leafElements({ capabilities, extensions }: LeafNode): number {
  const { versions, ciphersuites, proposals, credentials } = capabilities
  const lists = [versions, ciphersuites, capabilities.extensions, proposals, credentials, extensions]
  return lists.reduce((sum, list) => sum + list.length, 0)
}

/**
 * Checks one leaf by RFC 9420 section 7.3: keys, signature and capabilities. `credentialOf` checks its credential.
 *
 * @param place The group and the leaf index that the leaf of a commit or an update is signed for.
 * @throws MlsError MLS_BAD_LEAF, MLS_TOO_LARGE, MLS_BAD_SIGNATURE; MLS_MALFORMED, MLS_NON_CANONICAL for bad required
 *   capabilities
 */
export async function checkLeaf(
  kit: Kit,
  node: LeafNode,
  place: { readonly groupId: Uint8Array; readonly leaf: number; readonly extensions: readonly Extension[] },
): Promise<void> {
  demand(node.signaturePublicKey.length === 32, "MLS_BAD_LEAF", "an Ed25519 key has 32 bytes")
  demand(node.hpkePublicKey.length === 32, "MLS_BAD_LEAF", "an X25519 key has 32 bytes")
  demand(
    leafElements(node) <= maxLeafElements,
    "MLS_TOO_LARGE",
    "more capabilities and extensions than a leaf may have",
  )
  const { capabilities } = node
  demand(capabilities.versions.includes("mls10"), "MLS_BAD_LEAF", "does not speak this version")
  demand(capabilities.ciphersuites.includes(suiteName), "MLS_BAD_LEAF", "the leaf does not support the cipher suite")
  demand(capabilities.credentials.includes("basic"), "MLS_BAD_LEAF", "does not read basic credentials")
  const needed = [...place.extensions, ...node.extensions].map((extension) =>
    extensionTypeToNumber(extension.extensionType),
  )
  // Types 1 to 5 are default extensions, which capabilities do not list.
  const supported = needed.every((type) => type <= 5 || capabilities.extensions.includes(type))
  demand(supported, "MLS_BAD_LEAF", "does not support an extension that is in use")
  demand(meetsRequirements(capabilities, place.extensions), "MLS_BAD_LEAF", "lacks a required capability")
  const valid = await verifyLeafNodeSignature(node, place.groupId, place.leaf, kit.cs.signature)
  demand(valid, "MLS_BAD_SIGNATURE", "the leaf is not signed by its own key")
}

function meetsRequirements(own: Capabilities, extensions: readonly Extension[]): boolean {
  const requirement = extensions.find((extension) => extension.extensionType === "required_capabilities")
  if (requirement === undefined) return true
  const required = decodeStrictly(
    requirement.extensionData,
    maxBytes.keyPackage,
    decodeRequiredCapabilities,
    encodeRequiredCapabilities,
  )
  return (
    required.extensionTypes.every((type) => own.extensions.includes(type)) &&
    required.proposalTypes.every((type) => own.proposals.includes(type)) &&
    required.credentialTypes.every((type) => own.credentials.includes(type))
  )
}

/** Permits only a conversation binding and required capabilities in a GroupContext of V1: no external senders. */
export function checkGroupExtensions(extensions: readonly Extension[]): void {
  const types = extensions.map((extension) => extension.extensionType)
  demand(new Set(types).size === types.length, "MLS_BAD_WELCOME", "an extension appears twice")
  const known = types.every((type) => type === conversationBinding || type === "required_capabilities")
  demand(known, "MLS_BAD_WELCOME", "the group has an extension that V1 does not allow")
}
