import { copyOf } from "../crypto/bytes.ts"
import type { SecretTree } from "./secret-tree.ts"
import type { Tree } from "./tree.ts"
import type { GroupContext } from "./ts-mls.ts"

/**
 * A device's state in a group at one epoch. Immutable: operations return a new state.
 *
 * Only the engine's own files can read its contents.
 */
export interface GroupState {
  readonly groupId: Uint8Array
  readonly epoch: bigint
  readonly ownLeaf: number
}

/** The secrets that an epoch needs after its key schedule, 32 bytes each. The others are wiped. */
export interface EpochSecrets {
  readonly init: Uint8Array
  readonly senderData: Uint8Array
  readonly membership: Uint8Array
  readonly authenticator: Uint8Array
}

export function epochSecretList({ init, senderData, membership, authenticator }: EpochSecrets): Uint8Array[] {
  return [init, senderData, membership, authenticator]
}

export interface Inside {
  readonly context: GroupContext
  readonly confirmationTag: Uint8Array
  readonly tree: Tree
  readonly ownLeaf: number
  /** By node index: the own leaf and the ancestors whose secret is known. */
  readonly privateKeys: ReadonlyMap<number, Uint8Array>
  readonly epochSecrets: EpochSecrets
  readonly secretTree: SecretTree
  /** The key argument of the suite's `sign`: a seed, or a reference. Never encoded. */
  readonly identityKey: Uint8Array
}

const insides = new WeakMap<GroupState, Inside>()

export function closed(inside: Inside): GroupState {
  const { groupId, epoch } = inside.context
  const state = Object.freeze({ groupId: copyOf(groupId), epoch, ownLeaf: inside.ownLeaf })
  insides.set(state, inside)
  return state
}

/** @throws TypeError for an object that is no state of this engine. */
export function opened(state: GroupState): Inside {
  const inside = insides.get(state)
  if (inside === undefined) throw new TypeError("not a group state")
  return inside
}
