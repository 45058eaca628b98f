import { equalBytes } from "@signet/kernel/messaging/bytes"
import { isReadable, isWritable, type PlaceState } from "@signet/kernel/messaging/moving"
import { placeName } from "../names.ts"
import type { Sql } from "../sql.ts"
import { findResidence, putResidence, type Residence } from "./residence.ts"

/** The residence of one object, read once and then kept in memory. */
export interface Residency {
  state(): PlaceState
  /** True if the object's data may be written. */
  isOpen(): boolean
  /** True if the object's data may be read by what lists devices. */
  isReadable(): boolean
  /**
   * Changes the state, unless this notice is older than the newest. `arrived` runs in the same transaction if that opens
   * imported data.
   *
   * @returns False if the state stays.
   */
  change(to: Residence, arrived: () => void): boolean
  /** Runs the import, if this object is blank or is receiving this transfer. @returns True if it is. */
  importing(of: Omit<Residence, "state">, work: () => void): boolean
  /** The object's storage was deleted. */
  forget(): void
}

export function createResidency(of: {
  readonly sql: Sql
  /** True if nothing was ever written to the object. */
  readonly isBlank: () => boolean
  readonly transact: (work: () => void) => void
}): Residency {
  /** Null for none; undefined while unknown. */
  let kept: Residence | null | undefined

  function current(): Residence | undefined {
    if (kept === undefined) kept = of.isBlank() ? null : (findResidence(of.sql) ?? null)
    return kept ?? undefined
  }
  const state = () => current()?.state ?? "OPEN"

  /** Keeps the residence from before the transaction on, which asks for it; after an error it is read anew. */
  function keep(residence: Residence, work: () => void): void {
    kept = residence
    try {
      of.transact(work)
    } catch (fault) {
      kept = undefined
      throw fault
    }
  }

  return {
    state,
    isOpen: () => isWritable(state()),
    isReadable: () => isReadable(state()),

    change(to, arrived) {
      const before = state()
      const [turn, toTurn] = [current()?.turn ?? 0, to.turn ?? 0]
      if (toTurn < turn) return false
      if (before === to.state) {
        if (toTurn > turn) keep(to, () => putResidence(of.sql, to))
        return false
      }
      keep(to, () => {
        putResidence(of.sql, to)
        if (before === "RECEIVING" && to.state === "OPEN") arrived()
      })
      return true
    },

    importing(transfer, work) {
      const there = current()
      const isBlank = of.isBlank()
      const isOurs =
        there?.state === "RECEIVING" &&
        equalBytes(there.transferId, transfer.transferId) &&
        placeName(there.place) === placeName(transfer.place)
      if (!isBlank && !isOurs) return false
      const residence: Residence = { ...transfer, state: "RECEIVING" }
      keep(residence, () => {
        if (!isOurs) putResidence(of.sql, residence)
        work()
      })
      return true
    },

    forget() {
      kept = undefined
    },
  }
}
