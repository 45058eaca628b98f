import { utf8 } from "../crypto/bytes.ts"
import type { Suite } from "../crypto/suite.ts"
import type { MlsReason } from "../engine/refusal.ts"
import { MlsError } from "../mls.ts"
import { type OurSeat, ourSeat } from "./our-seat.ts"
import { openRoom, type Room } from "./seat.ts"

/** A room of our engine. Its first member created the group, and added the others in one commit. */
export async function roomOf(
  suite: Suite,
  ...names: string[]
): Promise<{ room: Room; seat: (name: string) => OurSeat }> {
  const seats = new Map<string, OurSeat>()
  for (const name of names) seats.set(name, await ourSeat(suite, name))
  const [founder, ...others] = [...seats.values()]
  if (founder === undefined) throw new Error("nobody")
  const room = await openRoom(founder, utf8("a group"))
  if (others.length > 0) await room.add(founder.name, others)
  return {
    room,
    seat(name) {
      const found = seats.get(name)
      if (found === undefined) throw new Error(`no ${name}`)
      return found
    },
  }
}

/** Returns the reason of the engine's refusal, or "accepted". */
export async function refusal(attempt: Promise<unknown>): Promise<MlsReason | "accepted"> {
  try {
    await attempt
    return "accepted"
  } catch (error) {
    if (error instanceof MlsError) return error.reason
    throw error
  }
}

/** True if `whole` contains `part`. */
export function contains(whole: Uint8Array, part: Uint8Array): boolean {
  return Buffer.from(whole).includes(Buffer.from(part))
}
