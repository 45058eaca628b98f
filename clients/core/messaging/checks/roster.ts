import type { Person } from "../events.ts"
import { type GroupState, membersOf } from "../mls.ts"
import { personOf } from "./credential.ts"

/** The users of a group, each once. */
export const usersIn = (group: GroupState): string[] => [
  ...new Set(membersOf(group).map(({ credential }) => personOf(credential).userId)),
]

/** The members of a group by their device. */
export function rosterOf(group: GroupState): Map<string, Person & { readonly leaf: number }> {
  return new Map(
    membersOf(group).map(({ leaf, credential }) => {
      const person = personOf(credential)
      return [person.deviceId, { ...person, leaf }]
    }),
  )
}

/** The members that a commit added and removed. */
export function difference(before: GroupState, after: GroupState): { added: Person[]; removed: Person[] } {
  const then = rosterOf(before)
  const now = rosterOf(after)
  const bare = ({ userId, deviceId }: Person): Person => ({ userId, deviceId })
  return {
    added: [...now.values()].filter(({ deviceId }) => !then.has(deviceId)).map(bare),
    removed: [...then.values()].filter(({ deviceId }) => !now.has(deviceId)).map(bare),
  }
}
