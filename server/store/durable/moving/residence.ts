// Whether what an object keeps is served here: told by who moves its place, and kept by each object, so that a write asks
// nobody else. An object that was told nothing is open.
import type { PlaceState } from "@signet/kernel/messaging/moving"
import type { Place } from "@signet/kernel/messaging/records"
import { fromText, toText } from "../plain.ts"
import type { Sql } from "../sql.ts"

export const residenceSteps = [
  "create table residence (id integer primary key check (id = 1), told text not null)",
] as const

/** What an object is told: of which place, by which transfer. */
export interface Residence {
  readonly place: Place
  readonly transferId: Uint8Array
  readonly state: Exclude<PlaceState, "HOLDING" | "GIVEN">
}

/** What telling an object came to. */
export interface Settled {
  /** It was in another state before, or has others to tell yet. */
  readonly isDirty: boolean
}

export function findResidence(sql: Sql): Residence | undefined {
  const row = sql.row<{ told: string }>("select told from residence")
  return row && fromText<Residence>(row.told)
}

/** Inside a transaction. */
export const putResidence = (sql: Sql, residence: Residence): void =>
  sql.run("insert or replace into residence (id, told) values (1, ?)", toText(residence))

export const isSameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i])

const heldMessage = "PLACE_HELD"

/** Thrown by an object's method that would write, or read, what is not served here: `ask` makes a refusal of it. */
export const heldFault = (): Error => new Error(heldMessage)

/** As it comes from an object: without its class, and with a prefix where the runtime adds one. */
export const isHeldFault = (fault: unknown): boolean =>
  fault instanceof Error && (fault.message === heldMessage || fault.message.endsWith(`Error: ${heldMessage}`))
