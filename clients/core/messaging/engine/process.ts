import { equal, wipe } from "../crypto/bytes.ts"
import { type Applied, applyChanges, type Changes, changesOf } from "./change.ts"
import { wipeEnded, wipeState } from "./commit.ts"
import { advance } from "./epoch.ts"
import type { Kit } from "./kit.ts"
import { type Member, memberOf } from "./leaf.ts"
import { keepPrivateKeys } from "./path.ts"
import { demand, MlsError } from "./refusal.ts"
import { makeSecretTree } from "./secret-tree.ts"
import { closed, type GroupState, type Inside, opened } from "./state.ts"
import { maxBytes, strictMessage } from "./strict.ts"
import { leafAt, treeHash } from "./tree.ts"
import { type FramedContentCommit, makeKeyPackageRef, type PublicMessage, unprotectPublicMessage } from "./ts-mls.ts"
import { checkPath, openPath } from "./update-path.ts"

/** The changes of a commit, which the caller compares with its proof. */
export interface CommitChange {
  /** The committer before the commit, which is signed with this key. */
  readonly committer: Member
  /** Authenticated data, covered by the committer's signature. */
  readonly aad: Uint8Array
  readonly added: readonly (Member & { readonly keyPackageReference: Uint8Array })[]
  readonly removed: readonly Member[]
  /** The committer's leaf before and after, if the commit carries a path. */
  readonly path: { readonly before: Member; readonly after: Member } | undefined
  readonly removesUs: boolean
}

/** Synchronous. Any other answer than "accept" refuses, also a promise (defect E12). */
export type Judge = (change: CommitChange) => "accept" | "reject"

export type Processed =
  /** `finish` wipes the previous epoch. Call it after `next` is stored durably. */
  | { readonly kind: "next"; readonly next: GroupState; readonly change: CommitChange; readonly finish: () => void }
  /** `finish` wipes the state of the removed member. */
  | { readonly kind: "removed"; readonly change: CommitChange; readonly finish: () => void }

/**
 * Applies another member's commit.
 *
 * @param bytes MLSMessage of wire format mls_public_message.
 * @param atSeconds The acceptance time in the receipt, at which key packages must be valid.
 * @throws MlsError; the state is unchanged.
 */
export async function processCommit(
  kit: Kit,
  state: GroupState,
  bytes: Uint8Array,
  judge: Judge,
  atSeconds: number,
): Promise<Processed> {
  const inside = opened(state)
  const { context } = inside
  const { publicMessage } = strictMessage(bytes, maxBytes.commit, "mls_public_message")
  const { content, sender } = commitOf(inside, publicMessage)
  const { signature, confirmationTag } = await authenticate(kit, inside, publicMessage)
  const changes = changesOf(byValue(content))
  checkKind(changes, content)
  const applied = await applyChanges(kit, inside.tree, changes, sender, context, atSeconds)
  const change = await describe(kit, inside, content, sender, changes, applied)
  if (content.commit.path !== undefined) await checkPath(kit, inside, applied.tree, sender, content.commit.path)
  askJudge(judge, change)
  if (change.removesUs) return { kind: "removed", change, finish: () => wipeState(state) }

  const { tree } = applied
  const path = content.commit.path && (await openPath(kit, inside, tree, sender, content.commit.path))
  const before = { context, confirmationTag: inside.confirmationTag, init: inside.epochSecrets.init }
  const commitSecret = path?.commitSecret ?? new Uint8Array(32)
  const epoch = await advance(kit, before, { content, signature }, await treeHash(kit, tree), commitSecret)
  wipe([epoch.joinerSecret, epoch.welcomeSecret])
  demand(
    equal(epoch.confirmationTag, confirmationTag),
    "MLS_BAD_CONFIRMATION",
    "the commit's confirmation tag does not match",
  )
  const next = closed({
    ...inside,
    context: epoch.context,
    confirmationTag: epoch.confirmationTag,
    tree,
    privateKeys: new Map([...keepPrivateKeys(tree, inside.ownLeaf, inside.privateKeys), ...(path?.privateKeys ?? [])]),
    epochSecrets: epoch.secrets,
    secretTree: makeSecretTree(tree.nodes.length, epoch.encryptionSecret),
  })
  return { kind: "next", next, change, finish: () => wipeEnded(state, next) }
}

function commitOf(inside: Inside, message: PublicMessage): { content: FramedContentCommit; sender: number } {
  const { content } = message
  demand(equal(content.groupId, inside.context.groupId), "MLS_WRONG_GROUP", "the message is of another group")
  demand(content.epoch >= inside.context.epoch, "REPLAY", "the message is of an earlier epoch")
  demand(content.epoch === inside.context.epoch, "EPOCH_GAP", "the message is of a later epoch")
  demand(content.contentType === "commit", "MLS_BAD_PROPOSALS", "proposals travel inside commits only")
  demand(content.sender.senderType === "member", "MLS_BAD_SENDER", "only members commit")
  const sender = content.sender.leafIndex
  demand(leafAt(inside.tree, sender) !== undefined, "MLS_BAD_SENDER", "the sender's leaf is blank")
  demand(sender !== inside.ownLeaf, "MLS_BAD_SENDER", "an own commit is accepted, not processed")
  return { content, sender }
}

async function authenticate(
  kit: Kit,
  inside: Inside,
  message: PublicMessage,
): Promise<{ signature: Uint8Array; confirmationTag: Uint8Array }> {
  const { auth } = message
  demand(auth.contentType === "commit", "MLS_MALFORMED", "a commit confirms itself")
  const { epochSecrets, context, tree } = inside
  try {
    await unprotectPublicMessage(epochSecrets.membership, context, tree.nodes, message, kit.cs)
  } catch (cause) {
    throw new MlsError("MLS_BAD_SIGNATURE", "the commit is not signed by the member that it names", { cause })
  }
  return auth
}

function byValue(content: FramedContentCommit) {
  return content.commit.proposals.map((entry) => {
    demand(entry.proposalOrRefType === "proposal", "MLS_BAD_PROPOSALS", "proposals by reference are not used")
    return entry.proposal
  })
}

/** Requires or forbids a path by the kind of commit (RFC 9420 section 12.4; defects E1 and E2). */
function checkKind({ adds }: Changes, content: FramedContentCommit): void {
  const hasPath = content.commit.path !== undefined
  if (adds.length === 0) demand(hasPath, "MLS_BAD_PATH", "a commit without adds carries a path")
  else demand(!hasPath, "MLS_BAD_PROPOSALS", "a commit with adds has no path")
}

async function describe(
  kit: Kit,
  inside: Inside,
  content: FramedContentCommit,
  sender: number,
  { adds, removes }: Changes,
  { added, removed }: Applied,
): Promise<CommitChange> {
  const old = leafAt(inside.tree, sender)
  demand(old !== undefined, "MLS_BAD_SENDER", "the sender's leaf is blank")
  const committer = memberOf(sender, old)
  const { path } = content.commit
  const newcomers = adds.map(async (keyPackage, i) => ({
    ...memberOf(added[i] ?? -1, keyPackage.leafNode),
    keyPackageReference: await makeKeyPackageRef(keyPackage, kit.cs.hash),
  }))
  return {
    committer,
    aad: content.authenticatedData,
    added: await Promise.all(newcomers),
    removed,
    path: path && { before: committer, after: memberOf(sender, path.leafNode) },
    removesUs: removes.includes(inside.ownLeaf),
  }
}

function askJudge(judge: Judge, change: CommitChange): void {
  // An async judge passes the types of many callers, but its promise is no verdict.
  const verdict: unknown = judge(change)
  demand(verdict === "accept", "COMMIT_REJECTED", "the judge did not accept this commit")
}
