import { utf8 } from "../crypto/bytes.ts"
import type { Kit } from "./kit.ts"
import { demand } from "./refusal.ts"
import { isWithin, left, right, root } from "./tree-math.ts"
import { deriveTreeSecret, expandWithLabel } from "./ts-mls.ts"

/** The most generations that one message may skip, which bounds the work for it. */
const maxForwardSteps = 2000
const empty = new Uint8Array()

/** The application ratchet of one member at its next generation (RFC 9420 section 9.1). */
export interface Ratchet {
  readonly secret: Uint8Array
  readonly generation: number
}

/**
 * The secret tree of an epoch (RFC 9420 section 9). Secrets are derived only down to the leaves that have sent a
 * message.
 *
 * It has application ratchets only: handshakes are public messages, so handshake secrets are never derived. The keys of
 * skipped generations are dropped: delivery is in order, and a kept secret could decrypt a consumed message (E9).
 */
export interface SecretTree {
  /** Number of nodes of the tree. */
  readonly width: number
  /** Secrets of subtrees without a sender yet, by the node index of their root. */
  readonly subtrees: ReadonlyMap<number, Uint8Array>
  /** By leaf. */
  readonly ratchets: ReadonlyMap<number, Ratchet>
}

export function makeSecretTree(width: number, encryptionSecret: Uint8Array): SecretTree {
  return { width, subtrees: new Map([[root(width), encryptionSecret]]), ratchets: new Map() }
}

/** The key of one message, and the secret tree after it. */
export interface MessageKey {
  readonly generation: number
  /** 16 bytes. */
  readonly key: Uint8Array
  /** 12 bytes, before the reuse guard. */
  readonly nonce: Uint8Array
  readonly next: SecretTree
  /** Consumed secrets. Wipe them once `next` is stored. */
  readonly spent: readonly Uint8Array[]
}

/**
 * Derives the key of a generation, and advances the member's ratchet past it.
 *
 * @param generation Default: the next one.
 * @throws EngineRefused REPLAY for a consumed generation, EPOCH_GAP for one that is more than 2000 ahead.
 */
export async function takeKey(kit: Kit, tree: SecretTree, leaf: number, generation?: number): Promise<MessageKey> {
  const opened = tree.ratchets.has(leaf) ? { tree, spent: [] } : await open(kit, tree, leaf)
  const spent = [...opened.spent]
  let ratchet = opened.tree.ratchets.get(leaf)
  demand(ratchet !== undefined, "MLS_BAD_SENDER", "no such leaf in the secret tree")
  const wanted = generation ?? ratchet.generation
  demand(wanted >= ratchet.generation, "REPLAY", "this generation has been consumed")
  demand(wanted - ratchet.generation <= maxForwardSteps, "EPOCH_GAP", "too many generations are missing")
  while (ratchet.generation < wanted) {
    spent.push(ratchet.secret)
    ratchet = await turn(kit, ratchet)
  }
  spent.push(ratchet.secret)
  const key = await deriveTreeSecret(ratchet.secret, "key", wanted, 16, kit.cs.kdf)
  const nonce = await deriveTreeSecret(ratchet.secret, "nonce", wanted, 12, kit.cs.kdf)
  const ratchets = new Map(opened.tree.ratchets).set(leaf, await turn(kit, ratchet))
  return { generation: wanted, key, nonce, next: { ...opened.tree, ratchets }, spent }
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
  return [...tree.subtrees.values(), ...[...tree.ratchets.values()].map((ratchet) => ratchet.secret)]
}
