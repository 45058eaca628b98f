import { secretsOf } from "../engine/secret-tree.ts"
import { epochSecretList, type GroupState, opened } from "../engine/state.ts"

/** The buffers of all secrets of a group state. */
export function secretsIn(state: GroupState): Set<Uint8Array> {
  const { epochSecrets, secretTree, privateKeys } = opened(state)
  return new Set([...epochSecretList(epochSecrets), ...secretsOf(secretTree), ...privateKeys.values()])
}

export const isZero = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0)
