// States whether an object may serve its data. A move of its place sets the state in each object, so that a write calls
// no other object. The default is open.
import type { PlaceState } from "@signet/kernel/messaging/moving"
import type { Place } from "@signet/kernel/messaging/records"
import { fromText, toText } from "../plain.ts"
import type { Sql } from "../sql.ts"

export const residenceSteps = [
  "create table residence (id integer primary key check (id = 1), told text not null)",
] as const

/** The state of an object: its place, the transfer and the state. */
export interface Residence {
  readonly place: Place
  readonly transferId: Uint8Array
  readonly state: Exclude<PlaceState, "HOLDING" | "GIVEN">
  /** Rises with each state of the place, so that a late notice of an earlier one is recognized. Absent in imports. */
  readonly turn?: number
}

/** The result of setting an object's state. */
export interface Settled {
  /** The state was another one, or the outbox has entries for other objects. */
  readonly isDirty: boolean
}

export function findResidence(sql: Sql): Residence | undefined {
  const row = sql.row<{ told: string }>("select told from residence")
  return row && fromText<Residence>(row.told)
}

/** Requires a transaction. */
export const putResidence = (sql: Sql, residence: Residence): void =>
  sql.run("insert or replace into residence (id, told) values (1, ?)", toText(residence))

const heldMessage = "PLACE_HELD"

/** Thrown by an object's method that would write or read data of a held place: `ask` turns it into a refusal. */
export const heldFault = (): Error => new Error(heldMessage)

/** Recognizes the fault as callers receive it: without its class, and with a prefix if the runtime adds one. */
export const isHeldFault = (fault: unknown): boolean =>
  fault instanceof Error && (fault.message === heldMessage || fault.message.endsWith(`Error: ${heldMessage}`))
