import { utf8 } from "../crypto/bytes.ts"
import type { Kit } from "./kit.ts"
import { demand } from "./refusal.ts"
import { isWithin, left, right, root } from "./tree-math.ts"
import { deriveTreeSecret, expandWithLabel } from "./ts-mls.ts"

/** The most generations that one message may skip, which bounds the work for it. */
const maxForwardSteps = 2000
/** The most keys of skipped generations that are kept. The oldest are deleted first. */
export const maxSkipped = { sender: 256, group: 1024 } as const
const empty = new Uint8Array()

/** The key of a generation that a later message of its sender has skipped. */
export interface SkippedKey {
  readonly leaf: number
  readonly generation: number
  /** 16 bytes. */
  readonly key: Uint8Array
  /** 12 bytes, before the reuse guard. */
  readonly nonce: Uint8Array
}

/** The application ratchet of one member at its next generation (RFC 9420 section 9.1). */
export interface Ratchet {
  readonly secret: Uint8Array
  readonly generation: number
}

/**
 * The secret tree of an epoch (RFC 9420 section 9). Secrets are derived only down to the leaves that have sent a
 * message.
 *
 * It has application ratchets only: handshakes are public messages, so handshake secrets are never derived. Of a skipped
 * generation it keeps the key and the nonce, and never the ratchet secret, which could decrypt consumed messages (E9).
 */
export interface SecretTree {
  /** Number of nodes of the tree. */
  readonly width: number
  /** Secrets of subtrees without a sender yet, by the node index of their root. */
  readonly subtrees: ReadonlyMap<number, Uint8Array>
  /** By leaf. */
  readonly ratchets: ReadonlyMap<number, Ratchet>
  /** Oldest first. */
  readonly skipped: readonly SkippedKey[]
}

export function makeSecretTree(width: number, encryptionSecret: Uint8Array): SecretTree {
  return { width, subtrees: new Map([[root(width), encryptionSecret]]), ratchets: new Map(), skipped: [] }
}

/** The key of one message, and the secret tree after it. */
export interface MessageKey {
  readonly generation: number
  /** 16 bytes. */
  readonly key: Uint8Array
  /** 12 bytes, before the reuse guard. */
  readonly nonce: Uint8Array
  readonly next: SecretTree
  /** Number of generations between the last used one and this one. */
  readonly skipped: number
  /** True for a generation that was skipped before. */
  readonly isLate: boolean
  /** Consumed secrets. Wipe them once `next` is stored. */
  readonly spent: readonly Uint8Array[]
}

/**
 * Derives the key of a generation, and advances the member's ratchet past it. Keeps the keys of skipped generations, at
 * most 256 of a sender and 1024 of a group (RFC 9420 sections 9.2 and 15.3), until they are used or the epoch ends.
 *
 * @param generation Default: the next one.
 * @throws MlsError REPLAY for a consumed generation or one whose key was deleted; EPOCH_GAP for one that is more
 * than 2000 ahead.
 */
export async function takeKey(kit: Kit, tree: SecretTree, leaf: number, generation?: number): Promise<MessageKey> {
  const late = tree.skipped.find((one) => one.leaf === leaf && one.generation === generation)
  if (late !== undefined) return takeSkipped(tree, late)
  const opened = tree.ratchets.has(leaf) ? { tree, spent: [] } : await open(kit, tree, leaf)
  const spent = [...opened.spent]
  let ratchet = opened.tree.ratchets.get(leaf)
  demand(ratchet !== undefined, "MLS_BAD_SENDER", "no such leaf in the secret tree")
  const wanted = generation ?? ratchet.generation
  demand(wanted >= ratchet.generation, "REPLAY", "this generation has been consumed")
  demand(wanted - ratchet.generation <= maxForwardSteps, "EPOCH_GAP", "too many generations are missing")
  const count = wanted - ratchet.generation
  const skipped = [...tree.skipped]
  while (ratchet.generation < wanted) {
    const { generation } = ratchet
    if (generation >= wanted - maxSkipped.sender) skipped.push({ leaf, generation, ...(await keyOf(kit, ratchet)) })
    spent.push(ratchet.secret)
    ratchet = await turn(kit, ratchet)
  }
  for (const one of excess(skipped, leaf)) {
    skipped.splice(skipped.indexOf(one), 1)
    spent.push(one.key, one.nonce)
  }
  spent.push(ratchet.secret)
  const keys = await keyOf(kit, ratchet)
  const ratchets = new Map(opened.tree.ratchets).set(leaf, await turn(kit, ratchet))
  const next = { ...opened.tree, ratchets, skipped }
  return { generation: wanted, ...keys, next, skipped: count, isLate: false, spent }
}

/** Copies: the caller wipes what it gets, and the tree keeps its keys until `next` is stored. */
function takeSkipped(tree: SecretTree, late: SkippedKey): MessageKey {
  const { generation, key, nonce } = late
  const next = { ...tree, skipped: tree.skipped.filter((one) => one !== late) }
  const copies = { key: key.slice(), nonce: nonce.slice() }
  return { generation, ...copies, next, skipped: 0, isLate: true, spent: [key, nonce] }
}

/** The oldest keys beyond the limits, after keys of a leaf were added. */
function excess(skipped: readonly SkippedKey[], leaf: number): readonly SkippedKey[] {
  const ofSender = skipped.filter((one) => one.leaf === leaf)
  const first = ofSender.slice(0, Math.max(0, ofSender.length - maxSkipped.sender))
  const others = skipped.filter((one) => !first.includes(one))
  return [...first, ...others.slice(0, Math.max(0, others.length - maxSkipped.group))]
}

async function keyOf(kit: Kit, { secret, generation }: Ratchet): Promise<Pick<MessageKey, "key" | "nonce">> {
  const key = await deriveTreeSecret(secret, "key", generation, 16, kit.cs.kdf)
  const nonce = await deriveTreeSecret(secret, "nonce", generation, 12, kit.cs.kdf)
  return { key, nonce }
}

/** The generation of a member's next message. */
export const nextGeneration = ({ ratchets }: SecretTree, leaf: number): number => ratchets.get(leaf)?.generation ?? 0

async function turn(kit: Kit, { secret, generation }: Ratchet): Promise<Ratchet> {
  const next = await deriveTreeSecret(secret, "secret", generation, 32, kit.cs.kdf)
  return { secret: next, generation: generation + 1 }
}

/** Derives the secrets down to one leaf. Secrets on the path are consumed; those of its siblings are kept. */
async function open(kit: Kit, tree: SecretTree, leaf: number): Promise<{ tree: SecretTree; spent: Uint8Array[] }> {
  const subtrees = new Map(tree.subtrees)
  const above = [...subtrees.keys()].find((index) => isWithin(leaf * 2, index))
  demand(above !== undefined, "MLS_BAD_SENDER", "no such leaf in the secret tree")
  const spent: Uint8Array[] = []
  let at = above
  let secret = take(subtrees, at, spent)
  while (at !== leaf * 2) {
    const [near, far] = isWithin(leaf * 2, left(at)) ? [left(at), right(at)] : [right(at), left(at)]
    subtrees.set(far, await child(kit, secret, at, far))
    secret = await child(kit, secret, at, near)
    spent.push(secret)
    at = near
  }
  const first = await expandWithLabel(secret, "application", empty, 32, kit.cs.kdf)
  const ratchets = new Map(tree.ratchets).set(leaf, { secret: first, generation: 0 })
  return { tree: { ...tree, subtrees, ratchets }, spent }
}

function take(subtrees: Map<number, Uint8Array>, index: number, spent: Uint8Array[]): Uint8Array {
  const secret = subtrees.get(index) ?? empty
  subtrees.delete(index)
  spent.push(secret)
  return secret
}

function child(kit: Kit, secret: Uint8Array, parent: number, index: number): Promise<Uint8Array> {
  return expandWithLabel(secret, "tree", utf8(index < parent ? "left" : "right"), 32, kit.cs.kdf)
}

/** Every secret of a tree, to wipe an epoch. */
export function secretsOf(tree: SecretTree): Uint8Array[] {
  const ratchets = [...tree.ratchets.values()].map(({ secret }) => secret)
  return [...tree.subtrees.values(), ...ratchets, ...tree.skipped.flatMap(({ key, nonce }) => [key, nonce])]
}
