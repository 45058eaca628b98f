import { concat } from "@signet/canonical/bytes"
import { conversationBindingExtension } from "@signet/canonical/conversation-binding"
import { type Verify, verifyEd25519 } from "@signet/canonical/ed25519"
import {
  type Extension,
  extensionData,
  membershipProof,
  readKnownExtensions,
  requiredCapabilities,
} from "./extension.ts"
import { readCipherSuite } from "./key-package.ts"
import { verifyLabeled } from "./labeled.ts"
import { type LeafNode, supportsExtension } from "./leaf-node.ts"
import { maxBytes } from "./limits.ts"
import { openMessage } from "./message.ts"
import { finish, opaque, openReader, type Reader, refuse, since, uint16, uint32, uint64 } from "./reader.ts"
import { leafHash } from "./tree-hash.ts"
import { uint64Bytes, vectorBytes } from "./writer.ts"

/** The state that the members of an epoch agree on (RFC 9420 section 8.1). */
export interface GroupContext {
  /** The encoded GroupContext, which commits of this epoch sign. */
  readonly bytes: Uint8Array
  readonly groupId: Uint8Array
  readonly epoch: bigint
  /** 32 bytes. */
  readonly treeHash: Uint8Array
  /** 32 bytes; empty in epoch 0. */
  readonly confirmedTranscriptHash: Uint8Array
  /** A conversation binding, required capabilities, or none. */
  readonly extensions: readonly Extension[]
  /** The encoded list of extensions. */
  readonly extensionsBytes: Uint8Array
  /** Extension 0xF0A1. The caller must verify it. */
  readonly binding: Uint8Array | undefined
}

/** GroupInfo (RFC 9420 section 12.4.3). V1 allows neither tree nor external key in it. */
export interface GroupInfo {
  readonly context: GroupContext
  /** Extension 0xF0A2: the membership proof of the commit that started this epoch. */
  readonly proof: Uint8Array | undefined
  /** 32 bytes, equal to the tag of the commit that started this epoch. */
  readonly confirmationTag: Uint8Array
  /** Leaf index of that commit's sender. */
  readonly signer: number
  readonly signature: Uint8Array
  /** GroupInfoTBS. */
  readonly signed: Uint8Array
}

/**
 * Parses an MLSMessage of wire format mls_group_info without verifying its signature (see `verifyGroupInfo`). @throws
 * FramingRefused
 */
export function parseGroupInfo(bytes: Uint8Array, most: number = maxBytes.groupInfo): GroupInfo {
  const reader = openMessage(bytes, most, "mls_group_info")
  const start = reader.at
  const context = readGroupContext(reader)
  const extensions = readKnownExtensions(reader, "group_info.extensions", [membershipProof])
  const confirmationTag = opaque(reader, "confirmation_tag", 32)
  const signer = uint32(reader, "signer")
  const signed = since(reader, start)
  const signature = opaque(reader, "group_info.signature", 64)
  finish(reader, "the group info")
  return { context, proof: extensionData(extensions, membershipProof), confirmationTag, signer, signature, signed }
}

/** Parses an encoded GroupContext, as stored from a GroupInfo. @throws FramingRefused */
export function parseGroupContext(bytes: Uint8Array): GroupContext {
  const reader = openReader(bytes, maxBytes.groupInfo, "group_context")
  const context = readGroupContext(reader)
  finish(reader, "the group context")
  return context
}

function readGroupContext(reader: Reader): GroupContext {
  const start = reader.at
  const version = uint16(reader, "group_context.version")
  if (version !== 1) refuse(reader, "MLS_UNSUPPORTED", "group_context.version", start)
  readCipherSuite(reader)
  const groupId = opaque(reader, "group_context.group_id")
  const epoch = uint64(reader, "group_context.epoch")
  const treeHash = opaque(reader, "group_context.tree_hash", 32)
  const confirmedTranscriptHash = opaque(reader, "group_context.confirmed_transcript_hash", epoch === 0n ? 0 : 32)
  const extensionsAt = reader.at
  const known = [conversationBindingExtension, requiredCapabilities]
  const extensions = readKnownExtensions(reader, "group_context.extensions", known)
  const extensionsBytes = since(reader, extensionsAt)
  const binding = extensionData(extensions, conversationBindingExtension)
  const bytes = since(reader, start)
  return { bytes, groupId, epoch, treeHash, confirmedTranscriptHash, extensions, extensionsBytes, binding }
}

/** Verifies the signature of a GroupInfo (RFC 9420 section 12.4.3). @param signerKey Key of the signer's leaf. */
export function verifyGroupInfo(
  { signed, signature }: GroupInfo,
  signerKey: Uint8Array,
  verify: Verify = verifyEd25519,
): boolean {
  return verifyLabeled(verify, signerKey, { label: "GroupInfoTBS", parts: [signed], signature })
}

/** True if a leaf supports every extension of the group (RFC 9420 section 7.3). */
export function fitsGroup({ capabilities }: LeafNode, { extensions }: GroupContext): boolean {
  return extensions.every(({ type }) => supportsExtension(capabilities, type))
}

/**
 * Computes the encoded GroupContext after a commit, for which no GroupInfo is known (RFC 9420 section 8.1). A commit
 * changes tree and transcript only: V1 has no proposal that changes extensions.
 */
export function nextGroupContext(
  { groupId, epoch, extensionsBytes }: GroupContext,
  next: Pick<GroupContext, "treeHash" | "confirmedTranscriptHash">,
): Uint8Array {
  const tree = vectorBytes(next.treeHash)
  const transcript = vectorBytes(next.confirmedTranscriptHash)
  return concat(versionAndSuite, vectorBytes(groupId), uint64Bytes(epoch + 1n), tree, transcript, extensionsBytes)
}

const versionAndSuite = Uint8Array.of(0, 1, 0, 1)
/**
 * Computes the encoded GroupContext of a group's first epoch, for which no GroupInfo is sent (RFC 9420 section 11). The
 * group then has only its creator, and already its permanent extensions.
 *
 * @param next Context of the following epoch.
 * @param creator The creator's leaf. A first commit that only adds members does not change it.
 */
export function firstGroupContext(next: GroupContext, creator: LeafNode): Uint8Array {
  const groupId = vectorBytes(next.groupId)
  const treeHash = vectorBytes(leafHash(0, creator.bytes))
  const epoch = uint64Bytes(next.epoch - 1n)
  return concat(versionAndSuite, groupId, epoch, treeHash, vectorBytes(), next.extensionsBytes)
}
