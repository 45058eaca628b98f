import type { Outbox } from "./outbox.ts"

/** Work of an object at a time, such as erasing expired records. */
export interface Timed {
  /** The time of the next work in milliseconds since the Unix epoch; null for none. */
  nextAtMs(): number | null
  /** Idempotent. After an error it is retried later. */
  run(nowMs: number): void | Promise<void>
}

export interface Alarm {
  /** Sets the object's alarm to the earliest due time, with the write before it. */
  schedule(): void
  /** Runs what is due. Never throws: the runtime drops an alarm after several errors. */
  ring(): Promise<void>
  /** The object's storage was deleted, and its alarm with it. */
  forget(): void
}

const longestWaitMs = 300_000

/** One alarm for all timed work of an object, its outbox included. */
export function createAlarm(of: {
  readonly storage: Pick<DurableObjectStorage, "setAlarm">
  readonly outbox: Outbox
  readonly timed: () => readonly Timed[]
  /** Milliseconds since the Unix epoch, by the object's clock. */
  readonly nowMs: () => number
  readonly report: (fault: unknown) => void
}): Alarm {
  /** The time of the current alarm; undefined while unknown. */
  let alarmAtMs: number | undefined
  let failures = 0
  let notBeforeMs = 0

  function schedule(): void {
    const times = [of.outbox.nextAtMs(), ...of.timed().map((one) => one.nextAtMs())].filter((at) => at !== null)
    if (times.length === 0) return
    const atMs = Math.max(Math.min(...times), notBeforeMs)
    // An early alarm sets the next one.
    if (alarmAtMs !== undefined && alarmAtMs <= atMs) return
    alarmAtMs = atMs
    void of.storage.setAlarm(Date.now() + atMs - of.nowMs())
  }

  async function runDue(): Promise<boolean> {
    const nowMs = of.nowMs()
    let isFaulty = false
    for (const one of of.timed()) {
      const atMs = one.nextAtMs()
      if (atMs === null || atMs > nowMs) continue
      try {
        await one.run(nowMs)
      } catch (fault) {
        isFaulty = true
        of.report(fault)
      }
    }
    return isFaulty
  }

  return {
    schedule,
    async ring() {
      alarmAtMs = undefined
      const isFaulty = await runDue()
      await of.outbox.drain()
      failures = isFaulty ? failures + 1 : 0
      notBeforeMs = isFaulty ? of.nowMs() + Math.min(1_000 * 2 ** failures, longestWaitMs) : 0
      schedule()
    },
    forget() {
      alarmAtMs = undefined
    },
  }
}
