import * as fc from "fast-check"
import type { Room, Seat } from "./seat.ts"

/** One step of a random history. Numbers select a present member, modulo the number of members. */
export type Step =
  | { readonly kind: "add"; readonly by: number; readonly count: number }
  | { readonly kind: "remove"; readonly by: number; readonly who: readonly number[] }
  | { readonly kind: "update"; readonly by: number }
  | { readonly kind: "say"; readonly by: number }

const someone = fc.nat({ max: 999 })

/** Random histories of additions and removals. fast-check shrinks a failing one. */
export function histories(steps: { readonly min: number; readonly max: number }): fc.Arbitrary<Step[]> {
  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant("add"), by: someone, count: fc.integer({ min: 1, max: 4 }) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("remove"),
        by: someone,
        who: fc.array(someone, { minLength: 1, maxLength: 4 }),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("update"), by: someone }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("say"), by: someone }) },
  )
  return fc.array(step, { minLength: steps.min, maxLength: steps.max, size: "max" })
}

/**
 * Runs a history. The room checks every step.
 *
 * @param newSeat Creates the n-th seat; the founder is number 0.
 */
export async function play(
  room: Room,
  steps: readonly Step[],
  newSeat: (n: number) => Promise<Seat>,
  maxMembers: number,
): Promise<void> {
  let seatsMade = 1
  for (const [n, step] of steps.entries()) {
    const names = [...room.seats.keys()]
    const by = names[step.by % names.length] ?? ""
    if (step.kind === "add") {
      const joining: Seat[] = []
      while (joining.length < step.count && names.length + joining.length < maxMembers) {
        joining.push(await newSeat(seatsMade++))
      }
      if (joining.length > 0) await room.add(by, joining)
    } else if (step.kind === "remove") {
      const others = names.filter((name) => name !== by)
      const leaving = new Set(step.who.map((who) => others[who % others.length] ?? ""))
      leaving.delete("")
      if (leaving.size > 0) await room.remove(by, [...leaving])
    } else if (step.kind === "update") {
      await room.update(by)
    } else {
      await room.say(by, `message ${n}`)
    }
  }
}
