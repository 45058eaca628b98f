import { type KeyPackage, readKeyPackage } from "./key-package.ts"
import { type LeafNode, readLeafNode } from "./leaf-node.ts"
import { maxBytes, maxInside } from "./limits.ts"
import { contentTypes, type Frame, openMessage, readAad } from "./message.ts"
import { finish, list, opaque, present, type Reader, refuse, since, uint8, uint16, uint32, uint64 } from "./reader.ts"
import { keyOf } from "./writer.ts"

/**
 * A commit in a PublicMessage (RFC 9420 sections 6.2 and 12.4). V1 allows only commits by members with proposals by
 * value and one kind of change: Adds, Removes with a path, or a path alone.
 */
export interface Commit extends Frame {
  /** Leaf index of the committer. */
  readonly sender: number
  readonly adds: readonly KeyPackage[]
  /** Leaf indices, without repetition and without the committer's. */
  readonly removes: readonly number[]
  readonly path: UpdatePath | undefined
  /** Ed25519, 64 bytes. */
  readonly signature: Uint8Array
  /** 32 bytes: a MAC that only members can verify. It identifies the epoch that the commit leads to. */
  readonly confirmationTag: Uint8Array
  /** 32 bytes: a MAC that only members can verify. It proves that a member sent the commit. */
  readonly membershipTag: Uint8Array
  /** Version, wire format and FramedContent: FramedContentTBS without the GroupContext. */
  readonly signed: Uint8Array
  /** ConfirmedTranscriptHashInput: wire format, FramedContent and signature. */
  readonly transcript: Uint8Array
}

/** RFC 9420 section 7.6. */
export interface UpdatePath {
  /** The committer's new leaf, with source commit. */
  readonly leafNode: LeafNode
  /** The new X25519 keys from the leaf to the root, each with the number of nodes to which its path secret is sealed. */
  readonly nodes: readonly { readonly encryptionKey: Uint8Array; readonly recipients: number }[]
}

/** Parses a commit without verifying its signature (see `verifyCommitSignature`). @throws FramingRefused */
export function parseCommit(bytes: Uint8Array, most: number = maxBytes.commit): Commit {
  const reader = openMessage(bytes, most, "mls_public_message")
  const contentAt = reader.at
  const groupId = opaque(reader, "group_id")
  const epoch = uint64(reader, "epoch")
  const sender = readSender(reader)
  const aad = readAad(reader)
  readContentType(reader)
  const changesAt = reader.at
  const { adds, removes } = readProposals(reader, sender)
  const path = present(reader, "path") ? readPath(reader) : undefined
  if (adds.length > 0 && path !== undefined) refuse(reader, "MLS_UNSUPPORTED", "adds and a path in one", changesAt)
  if (adds.length === 0 && path === undefined) refuse(reader, "MLS_MALFORMED", "a path is needed here", changesAt)
  const signed = since(reader, 0)
  const signature = opaque(reader, "signature", 64)
  const transcript = since(reader, contentAt - 2)
  const confirmationTag = opaque(reader, "confirmation_tag", 32)
  const membershipTag = opaque(reader, "membership_tag", 32)
  finish(reader, "the message")
  const tags = { confirmationTag, membershipTag }
  return { groupId, epoch, sender, aad, adds, removes, path, signature, ...tags, signed, transcript }
}

/** @returns The leaf index of a member; in V1 only members commit (RFC 9420 section 6). */
function readSender(reader: Reader): number {
  const start = reader.at
  const type = uint8(reader, "sender_type")
  if (type < 1 || type > 4) refuse(reader, "MLS_MALFORMED", "sender_type", start)
  if (type !== 1) refuse(reader, "MLS_UNSUPPORTED", "sender_type: only members commit", start)
  return uint32(reader, "sender.leaf_index")
}

function readContentType(reader: Reader): void {
  const start = reader.at
  const type = uint8(reader, "content_type")
  if (type === contentTypes.application || type === contentTypes.proposal) {
    refuse(reader, "MLS_WRONG_WIRE_FORMAT", "content_type: only commits are public messages", start)
  }
  if (type !== contentTypes.commit) refuse(reader, "MLS_MALFORMED", "content_type", start)
}

interface Proposals {
  readonly adds: KeyPackage[]
  readonly removes: number[]
}

/**
 * Parses the proposals of a commit (RFC 9420 sections 12.1 and 12.2) and validates them as far as possible without the
 * tree.
 */
function readProposals(reader: Reader, sender: number): Proposals {
  const proposals: Proposals = { adds: [], removes: [] }
  const taken = new Set<string | number>()
  const once = (name: string | number, inside: Reader, what: string) => {
    if (taken.has(name)) refuse(inside, "MLS_MALFORMED", what)
    taken.add(name)
  }
  const start = reader.at
  list(reader, "proposals", maxInside.proposals, (inside) => {
    const type = readProposalType(inside)
    if (type === "add") {
      const keyPackage = readKeyPackage(inside)
      for (const key of keysOf(keyPackage)) once(keyOf(key), inside, "add: a key twice")
      proposals.adds.push(keyPackage)
    } else {
      const leaf = uint32(inside, "remove.removed")
      if (leaf === sender) refuse(inside, "MLS_MALFORMED", "remove.removed: the committer")
      once(leaf, inside, "remove.removed: a member twice")
      proposals.removes.push(leaf)
    }
  })
  const both = proposals.adds.length > 0 && proposals.removes.length > 0
  if (both) refuse(reader, "MLS_UNSUPPORTED", "adds and removes in one commit", start)
  return proposals
}

const keysOf = ({ leafNode, initKey }: KeyPackage) => [leafNode.signatureKey, leafNode.encryptionKey, initKey]

function readProposalType(reader: Reader): "add" | "remove" {
  const start = reader.at
  const or = uint8(reader, "proposal_or_ref_type")
  if (or === 2) refuse(reader, "MLS_UNSUPPORTED", "proposals by reference are not used", start)
  if (or !== 1) refuse(reader, "MLS_MALFORMED", "proposal_or_ref_type", start)
  const type = uint16(reader, "proposal_type")
  if (type === 1) return "add"
  if (type === 3) return "remove"
  return refuse(reader, type === 0 ? "MLS_MALFORMED" : "MLS_UNSUPPORTED", "proposal_type", start)
}

function readPath(reader: Reader): UpdatePath {
  const start = reader.at
  const leafNode = readLeafNode(reader)
  if (leafNode.source.kind !== "commit") refuse(reader, "MLS_MALFORMED", "leaf_node_source of a path", start)
  let recipients = 0
  const nodes = list(reader, "path.nodes", maxInside.pathNodes, (inside) => {
    const encryptionKey = opaque(inside, "path.nodes.encryption_key", 32)
    const sealed = readSealedSecrets(inside, maxInside.pathSecrets - recipients)
    recipients += sealed
    return { encryptionKey, recipients: sealed }
  })
  return { leafNode, nodes }
}

/** @returns The number of sealed secrets. */
function readSealedSecrets(reader: Reader, most: number): number {
  const what = "path.nodes.encrypted_path_secret"
  const sealed = list(reader, what, most, (inside) => {
    opaque(inside, what, 32)
    // A path secret and the AES-128-GCM tag.
    opaque(inside, what, 32 + 16)
  })
  return sealed.length
}
