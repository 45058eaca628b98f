// The state of a place, and the steps of a move.
import { Refused } from "@signet/kernel/errors"
import { equalBytes } from "@signet/kernel/messaging/bytes"
import { decideStep, type PlaceMoves, type PlaceState, type PlaceStatus } from "@signet/kernel/messaging/moving"
import type { Place } from "@signet/kernel/messaging/records"
import { at, bytes, type Database, run } from "../../sql.ts"
import { type Access, appendAudit, placeOf } from "../access.ts"
import { makeGates, shards } from "./gates.ts"

const statusText = `select place.state, place.transfer_id, place.changed_at,
  not exists (select 1 from messaging_device where app_id = $1 and tenant_id = $2)
  and not exists (select 1 from device_list where app_id = $1 and tenant_id = $2)
  and not exists (select 1 from conversation where app_id = $1 and tenant_id = $2) as is_empty
from (select 1) one left join messaging_place place on place.app_id = $1 and place.tenant_id = $2`
const beginText = `insert into messaging_place (app_id, tenant_id, state) values ($1, $2, 'OPEN')
on conflict do nothing`
const lockText = "select 1 from messaging_place where app_id = $1 and tenant_id = $2 for update"
const putText = `update messaging_place set state = $3, transfer_id = $4, changed_at = $5
where app_id = $1 and tenant_id = $2`
const closeText = `update messaging_gate set is_open = false
where app_id = $1 and tenant_id = $2 and shard = $3 and is_open`
// A gate that is open is not written: that would wait for the writes that share it.
const openText = "update messaging_gate set is_open = true where app_id = $1 and tenant_id = $2 and not is_open"

interface StatusRow {
  state: PlaceState | null
  transfer_id: Uint8Array | null
  changed_at: Date | null
  is_empty: boolean
}

export async function statusOf(db: Database, place: Place): Promise<PlaceStatus> {
  const [row] = await run<StatusRow>(db, statusText, placeOf(place))
  return {
    state: row?.state ?? "OPEN",
    transferId: row?.transfer_id == null ? null : bytes(row.transfer_id),
    changedAtMs: row?.changed_at?.getTime() ?? null,
    isEmpty: row?.is_empty ?? true,
  }
}

/** Blocks other steps of the place until the transaction ends. */
export async function lockPlace(trx: Database, place: Place): Promise<PlaceStatus> {
  await run(trx, lockText, placeOf(place))
  return statusOf(trx, place)
}

type StepOf = Parameters<PlaceMoves["step"]>[0]

export const takeStep =
  (access: Access): PlaceMoves["step"] =>
  async (of) => {
    const closing = await access.transact(async (trx, log) => {
      await run(trx, beginText, placeOf(of.place))
      const status = await lockPlace(trx, of.place)
      const decision = decideStep(of.step, status, of.transferId)
      if (decision.is === "refuse") throw new Refused("STATE_CONFLICT")
      if (decision.is === "there") {
        // A HOLD whose process ended in the middle of an ABORT left gates closed.
        if (status.state === "OPEN") await run(trx, openText, placeOf(of.place))
        return false
      }
      if (decision.to === "HELD" || decision.to === "RECEIVING") {
        // After the commit no new write begins.
        await makeGates(trx, of.place)
        await put(trx, of, decision.to === "HELD" ? "HOLDING" : "RECEIVING")
        return true
      }
      if (decision.to === "OPEN") await run(trx, openText, placeOf(of.place))
      await put(trx, { ...of, transferId: decision.transferId }, decision.to)
      await appendAudit(log, [of.audit])
      return false
    })
    if (closing) await drain(access, of)
    const status = await access.transact((trx) => statusOf(trx, of.place))
    if (of.step === "RECEIVE" && status.state !== "RECEIVING") throw new Refused("STATE_CONFLICT")
    return status
  }

type Put = Pick<StepOf, "place" | "nowMs"> & Pick<PlaceStatus, "transferId">

const put = (trx: Database, { place, transferId, nowMs }: Put, state: PlaceState) =>
  run(trx, putText, [...placeOf(place), state, transferId, at(nowMs)])

/**
 * Waits for writes in progress. Closes one gate at a time, so that no gate is locked while another is waited for. An
 * ABORT does not wait for this: gates that close after it are opened again.
 */
async function drain({ ask, transact }: Access, of: StepOf): Promise<void> {
  try {
    for (const shard of shards) await ask(closeText, [...placeOf(of.place), shard])
  } finally {
    await transact(async (trx) => {
      const { state } = await lockPlace(trx, of.place)
      if (state === "OPEN") await run(trx, openText, placeOf(of.place))
    })
  }
  await transact(async (trx, log) => {
    const { state, transferId, isEmpty } = await lockPlace(trx, of.place)
    // Another call may have taken the step meanwhile.
    if (transferId === null || !equalBytes(transferId, of.transferId)) return
    if (state === "HOLDING") await put(trx, of, "HELD")
    else if (state !== "RECEIVING") return
    else if (!isEmpty) return reopen(trx, of)
    await appendAudit(log, [of.audit])
  })
}

/** Reopens the place: a write happened while it was checked to be empty. */
async function reopen(trx: Database, of: StepOf): Promise<void> {
  await run(trx, openText, placeOf(of.place))
  await put(trx, { ...of, transferId: null }, "OPEN")
}

/** @throws Refused STATE_CONFLICT */
export function requireState(
  { state, transferId }: PlaceStatus,
  states: readonly PlaceState[],
  ours: Uint8Array | null,
): void {
  const isOurs = ours === null || (transferId !== null && equalBytes(transferId, ours))
  if (!states.includes(state) || !isOurs) throw new Refused("STATE_CONFLICT")
}
