// Links audit events shortly after they are committed, and signs checkpoints of the chains.
import { setTimeout as sleep } from "node:timers/promises"
import { type Checkpoint, checkpointTarget, checkpointType } from "@signet/kernel/audit/checkpoint"
import type { AuditCrypto } from "@signet/kernel/audit/crypto"
import type { KeyRing } from "@signet/kernel/keys/ports"
import type { Clock, Random } from "@signet/kernel/ports"
import { ownEvent } from "../rpc/audit/audit.ts"
import { isAnyPending, linkPending } from "../store/postgres/audit/audit-chain.ts"
import { makeCheckpoint } from "../store/postgres/audit/audit-checkpoints.ts"
import type { AuditLogDeps } from "../store/postgres/audit/audit-log-deps.ts"
import type { Database } from "../store/postgres/sql.ts"
import { every } from "./every.ts"

/** Waiting time that lets concurrently committed events be linked together. */
const gatherMs = 100
/** Interval for finding events of a process that was killed between commit and linking. */
const lookEveryMs = 1_000
const checkpointTickMs = 10_000

interface AuditChainer {
  /** Signals that events were committed. */
  wake(): void
  /** Links all pending events. Rejects if the database does not answer. */
  link(): Promise<void>
  close(): Promise<void>
}

interface Options {
  readonly db: Database
  readonly seals: AuditCrypto
  readonly clock: Clock
  readonly onFault: (fault: unknown) => void
}

/** Any number of processes may run one: the database lets one at a time link. */
export function startAuditChainer({ db, seals, clock, onFault }: Options): AuditChainer {
  let isAwake = false
  let isClosed = false
  let running: Promise<void> = Promise.resolve()

  async function linkAll(isHinted: boolean): Promise<void> {
    for (let isMore = isHinted || (await isAnyPending(db)); isMore && !isClosed; ) {
      const { isFull, forged } = await linkPending(db, seals, clock.nowMs)
      for (const id of forged) onFault(new Error(`the audit event ${id} was not written by this service`))
      isMore = isFull
    }
  }

  const link = ({ isHinted } = { isHinted: false }): Promise<void> => {
    const run = running.then(() => linkAll(isHinted))
    running = run.catch(() => undefined)
    return run
  }

  const wake = (): void => {
    if (isAwake || isClosed) return
    isAwake = true
    sleep(gatherMs)
      .then(() => {
        isAwake = false
        return isClosed ? undefined : link({ isHinted: true })
      })
      .catch(onFault)
  }

  const stopLooking = every(lookEveryMs, () => link(), onFault)
  return {
    wake,
    link: () => link(),
    async close() {
      isClosed = true
      await stopLooking()
      await running
    },
  }
}

interface CheckpointOptions {
  readonly db: Database
  readonly writing: AuditLogDeps
  readonly keys: Pick<KeyRing, "sign">
  readonly clock: Clock
  readonly random: Random
  readonly issuer: string
  readonly everySeconds: number
}

/** Returns a function that creates a checkpoint if one is due. */
export function checkpointWhenDue(options: CheckpointOptions): () => Promise<Checkpoint | undefined> {
  const { db, writing, keys, clock, random, issuer, everySeconds } = options
  return () => {
    const nowMs = clock.nowMs()
    return makeCheckpoint(db, {
      writing,
      iss: issuer,
      nowMs,
      everyMs: everySeconds * 1_000,
      sign: (claims) => keys.sign(checkpointType, { ...claims }),
      event: (made) => {
        const target = { type: "audit_checkpoint", id: checkpointTarget(writing.seals, made) }
        return ownEvent({ random }, nowMs, { kind: "audit.checkpoint", target })
      },
    })
  }
}

export const startCheckpoints = (options: CheckpointOptions, onFault: (fault: unknown) => void) =>
  every(checkpointTickMs, checkpointWhenDue(options), onFault)
