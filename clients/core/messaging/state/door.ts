import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf"
import { equalBytes } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import {
  type ConversationRecord,
  type ConversationRecord_Due,
  type ConversationRecord_Outline,
  ConversationRecord_OutlineSchema,
  ConversationRecordSchema,
  MemberListSchema,
  type StagedCommit,
  StagedCommitSchema,
} from "@signet/proto/client/v1/records"
import { rosterOf, usersIn } from "../checks/roster.ts"
import type { Reports, Storage, Trust } from "../deps.ts"
import type { OwnDevice } from "../device/device.ts"
import { MessagingError } from "../errors.ts"
import { type Engine, encodeEpoch, wipeState } from "../mls.ts"
import { refusingAs } from "../refusing.ts"
import type { Op } from "../store/store.ts"
import { changeDue, type DueChange, type DueRow, type DueTable, readDue, unboundDue } from "./due.ts"
import { type Held, nothingHeld, type Seat, type Sketch, seatOf, sketchOf, snapshotOf } from "./held.ts"
import { openSnapshot, type SnapshotPlace, sealSnapshot } from "./snapshot.ts"
import { createTelling } from "./telling.ts"

/** What a piece of work makes of a conversation. */
export interface Change<Result> {
  /** What is held then; absent when nothing changes. */
  readonly next?: Held
  /** Further writes of the same transaction. */
  readonly ops?: readonly Op[]
  /** What waits to be done from now on, and what is done. */
  readonly due?: readonly DueChange[]
  /** Wipes what was consumed: after the transaction, and only then. */
  readonly finish?: () => void
  readonly result: Result
}

/**
 * The one door to a conversation's state: one after the other, each change one transaction. State that is held in memory
 * is what was stored; whatever went wrong, it is read again.
 */
export interface Door {
  held(): Promise<Held>
  /** The record alone: what was written with the state, without opening that. Undefined for one of before there was an outline. */
  glance(): Promise<ConversationRecord | undefined>
  /**
   * @param work Runs again, on what is stored then, when somebody else has written meanwhile. It must not wait for this
   *   door, and what it does besides its result must bear to be done twice.
   */
  change<Result>(work: (held: Held) => Promise<Change<Result>>): Promise<Result>
  /** What a list shows: without opening the state, where the record was written with it. */
  sketch(): Promise<Sketch>
  /** What waits to be done, as it is stored now. Not inside a change, where `readDue` has it. */
  due<Desc extends DescMessage>(table: DueTable, schema: Desc): Promise<DueRow<MessageShape<Desc>>[]>
  /** Wipes what is in memory. What is stored stays. */
  forget(): Promise<void>
  /** Another tab has written: tells what happened, as this one would have told it. */
  follow(): Promise<void>
}

type Needs = Storage & Reports & Pick<Trust, "owner"> & { readonly engine: Engine; readonly device: OwnDevice }

const keys = { record: "record", state: "snapshot", tree: "current", members: "members", staged: "commit" } as const
/** Tabs that write at the same moment: more than so many times in a row is no accident. */
const maxRaces = 100

export function openDoor(context: Needs, conversationId: string): Door {
  const { store, rows, engine, owner, device } = context
  const space = conversationId
  const telling = createTelling(context, conversationId)
  const recordPlace = { space, table: "conversation", key: keys.record } as const
  let cached: { readonly generation: bigint; readonly held: Held } | undefined
  /** The record that was read last without its state. */
  let glanced: ConversationRecord | undefined
  let last: Promise<unknown> = Promise.resolve()

  const snapshotPlace = (): SnapshotPlace => {
    const { id } = device
    if (id === undefined) throw new MessagingError("DEVICE_ENDED", "not registered")
    const { appId, tenantId, userId } = owner
    return { appId, tenantId, userId, deviceId: id, conversationId }
  }

  async function load(): Promise<{ generation: bigint; held: Held }> {
    const { generation, values } = await store.read(space, [
      recordPlace,
      { table: "state", key: keys.state },
      { table: "tree", key: keys.tree },
      { table: "staged", key: keys.staged },
    ])
    const [recordRow, stateRow, treeRow, stagedRow] = values
    if (recordRow === undefined) {
      if (stateRow !== undefined) throw tampered("a state without its record")
      return { generation, held: nothingHeld }
    }
    const found = await rows.read(recordPlace, ConversationRecordSchema, recordRow)
    const opened = stateRow && (await openSnapshot(rows, snapshotPlace(), generation, stateRow))
    const record = await boundRecord(found, generation, opened?.bindsRecord === true)
    const staged =
      stagedRow && (await rows.read({ space, table: "staged", key: keys.staged }, StagedCommitSchema, stagedRow))
    if (opened === undefined) return { generation, held: { record, seat: undefined, staged } }
    const { snapshot } = opened
    const tree = treeRow && (await rows.readBytes({ space, table: "tree", key: keys.tree }, treeRow))
    const isWhole = tree !== undefined && equalBytes(hash("tree-blob", tree), snapshot.treeHash)
    const isStaged = equalBytes(staged?.commitHash ?? new Uint8Array(), snapshot.stagedCommit)
    if (!isWhole || !isStaged) throw tampered("rows of different moments")
    const seat = await refusingAs("STATE_TAMPERED", () => seatOf(engine, snapshot, tree))
    return { generation, held: { record, seat, staged } }
  }

  /** A record of this very moment; or of before records were bound, which then was never written again. */
  async function boundRecord(found: ConversationRecord, generation: bigint, isBound: boolean) {
    if (found.generation === generation) return found
    const isOld = found.generation === 0n && !isBound && !device.marks.bindsRecords
    if (!isOld) throw tampered("the record is of another generation than its store")
    return create(ConversationRecordSchema, { ...found, due: await unboundDue({ store }, space) })
  }

  async function current() {
    if (cached !== undefined) return cached
    const loaded = await load()
    cached = loaded
    await telling.others(loaded.held.record, loaded.held.seat?.processedSeq)
    return loaded
  }

  /** Whether a failure counts: on what another tab has changed meanwhile, it says nothing. */
  const isStale = (generation: bigint): Promise<boolean> =>
    store.read(space, []).then(
      (now) => now.generation !== generation,
      () => false,
    )

  async function opsOf(before: Held, after: Held, generation: bigint): Promise<Op[]> {
    const ops: Op[] = []
    if (after.record !== undefined) {
      ops.push(await rows.put(recordPlace, ConversationRecordSchema, after.record))
    }
    if (after.staged !== before.staged) ops.push(await stagedOp(after.staged))
    if (after.seat === undefined) {
      if (before.seat === undefined) return ops
      return [
        ...ops,
        { op: "remove", table: "state", key: keys.state },
        { op: "remove", table: "tree", key: keys.tree },
        { op: "remove", table: "tree", key: keys.members },
      ]
    }
    if (after.record?.outline?.membersGeneration === generation) {
      const userIds = usersIn(after.seat.group)
      ops.push(await rows.put(membersPlace(generation), MemberListSchema, { userIds }))
    }
    if (after.seat.treeHash !== before.seat?.treeHash) {
      ops.push(await rows.putBytes({ space, table: "tree", key: keys.tree }, encodeEpoch(after.seat.group)))
    }
    const snapshot = snapshotOf(conversationId, generation, after.seat, after.staged)
    const value = await sealSnapshot(rows, snapshotPlace(), snapshot)
    return [...ops, { op: "put", table: "state", key: keys.state, value }]
  }

  const membersPlace = (generation: bigint) => ({ space, table: "tree", key: keys.members, generation }) as const

  const stagedOp = async (staged: StagedCommit | undefined): Promise<Op> =>
    staged === undefined
      ? { op: "remove", table: "staged", key: keys.staged }
      : rows.put({ space, table: "staged", key: keys.staged }, StagedCommitSchema, staged)

  async function changeNow<Result>(work: (held: Held) => Promise<Change<Result>>): Promise<Result> {
    for (let race = 0; race < maxRaces; race++) {
      const { generation, held } = await current()
      let change: Change<Result>
      try {
        change = await work(held)
      } catch (error) {
        if (!(await isStale(generation))) throw error
        cached = undefined
        continue
      }
      const { next: after = held, ops = [], due: changes = [], finish, result } = change
      if (after === held && ops.length === 0 && changes.length === 0) return result
      const written = generation + 1n
      const { due, ops: dueOps } = await changeDue(
        { rows },
        { space, generation: written },
        held.record?.due ?? [],
        changes,
      )
      // With every write, as the snapshot: each carries the generation, so a row from before would be noticed.
      const record =
        after.record && bind(after.record, { generation: written, due, outline: outlineOf(after, held, written) })
      const next = { ...after, record }
      const own = [...(await opsOf(held, next, written)), ...dueOps]
      // Until it is known what the transaction came to, nothing in memory counts.
      cached = undefined
      const done = await store.transact(space, generation, [...own, ...ops])
      if (done === "EXISTS") throw new MessagingError("KEY_PACKAGE_REUSED", "this key package was used before")
      if (done === "GENERATION_MISMATCH") continue
      cached = { generation: written, held: next }
      finish?.()
      telling.own(held, next, ops)
      return result
    }
    throw tampered("the store never takes what is written")
  }

  /** Another tab may have written; its generation tells. */
  async function refreshed(): Promise<Held> {
    const { generation } = await store.read(space, [])
    if (cached?.generation !== generation) cached = undefined
    return (await current()).held
  }

  /** In turn: also after a failure. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(work, work)
    last = turn.catch(() => undefined)
    return turn
  }

  async function dueNow<Desc extends DescMessage>(table: DueTable, schema: Desc) {
    for (let race = 0; race < maxRaces; race++) {
      const { record } = await refreshed()
      const generation = cached?.generation
      try {
        return await readDue({ store, rows }, space, record, table, schema)
      } catch (error) {
        if (generation === undefined || !(await isStale(generation))) throw error
      }
    }
    throw tampered("the store never stays as it is")
  }

  async function glanceNow(): Promise<ConversationRecord | undefined> {
    const { generation, values } = await store.read(space, [recordPlace])
    return glanceAt(generation, values[0])
  }

  async function glanceAt(generation: bigint, row: Uint8Array | undefined): Promise<ConversationRecord | undefined> {
    if (cached?.generation === generation) return cached.held.record
    if (glanced?.generation === generation) return glanced
    if (row === undefined) return undefined
    const record = await rows.read(recordPlace, ConversationRecordSchema, row)
    if (record.generation === 0n) return undefined
    if (record.generation !== generation) throw tampered("the record is of another generation than its store")
    await telling.others(record, record.outline?.processedSeq)
    glanced = record
    return record
  }

  async function sketchNow(): Promise<Sketch> {
    const { generation, values } = await store.read(space, [recordPlace, { table: "tree", key: keys.members }])
    const [recordRow, membersRow] = values
    const record = cached?.generation === generation ? undefined : await glanceAt(generation, recordRow)
    const { outline } = record ?? {}
    const isWritten = record !== undefined && (outline === undefined || outline.membersGeneration > 0n)
    if (!isWritten) return sketchOf(await refreshed())
    if (outline === undefined) return { record, memberUserIds: [], processedSeq: 0n }
    if (membersRow === undefined) throw tampered("the list of members is gone")
    const list = await rows.read(membersPlace(outline.membersGeneration), MemberListSchema, membersRow)
    return { record, memberUserIds: list.userIds, processedSeq: outline.processedSeq }
  }

  function outlineOf({ seat, staged }: Held, before: Held, written: bigint): ConversationRecord_Outline | undefined {
    if (seat === undefined) return undefined
    const { processedSeq, group, leafRenewedAt, treeHash, receipt } = seat
    const known = before.seat?.treeHash === treeHash ? before.record?.outline : undefined
    const ownDeviceIds =
      known?.ownDeviceIds ??
      [...rosterOf(group).values()].filter(({ userId }) => userId === owner.userId).map(({ deviceId }) => deviceId)
    const isStaged = staged !== undefined
    const { epoch } = group
    const membersGeneration = known?.membersGeneration || written
    const said = {
      processedSeq,
      epoch,
      leafRenewedAt: BigInt(leafRenewedAt),
      isStaged,
      ownDeviceIds,
      membersGeneration,
      ...(receipt === "first" ? {} : { receiptHead: receipt.hash }),
    }
    return create(ConversationRecord_OutlineSchema, said)
  }

  async function forgetNow(): Promise<void> {
    const { seat, staged } = cached?.held ?? nothingHeld
    cached = undefined
    if (seat !== undefined) wipeState(seat.group)
    staged?.nextState.fill(0)
  }

  return {
    held: () => inTurn(refreshed),
    glance: () => inTurn(glanceNow),
    sketch: () => inTurn(sketchNow),
    forget: () => inTurn(forgetNow),
    due: (table, schema) => inTurn(() => dueNow(table, schema)),
    change: (work) => inTurn(() => changeNow(work)),
    follow: () =>
      inTurn(async () => {
        const isFirst = !telling.isBegun
        const { record } = await refreshed()
        if (!isFirst) return
        // What was here before is not known: the app reads it.
        telling.status(record)
        context.emit({ is: "lagged" })
      }),
  }
}

interface Bound {
  readonly generation: bigint
  readonly due: ConversationRecord_Due[]
  readonly outline: ConversationRecord_Outline | undefined
}

function bind({ outline: _, ...record }: ConversationRecord, { generation, due, outline }: Bound): ConversationRecord {
  return create(ConversationRecordSchema, { ...record, generation, due, ...(outline && { outline }) })
}

const tampered = (message: string): MessagingError => new MessagingError("STATE_TAMPERED", message)

/** The tree's name, for a seat in a new epoch. */
export function treeHashOf(seat: Pick<Seat, "group">): Uint8Array {
  return hash("tree-blob", encodeEpoch(seat.group))
}
