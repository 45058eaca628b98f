// A Worker that exposes its objects to tests: their methods and their internals.
import { createHash } from "node:crypto"
import type { AuditEvent } from "@signet/kernel/audit/event"
import { Refused } from "@signet/kernel/errors"
import type { PrincipalId, SessionId } from "@signet/kernel/ids"
import type { ReceiptSigner } from "@signet/kernel/messaging/authority"
import type { BlobStore } from "@signet/kernel/messaging/ports"
import type { PushEndpoint } from "@signet/kernel/messaging/push"
import type { Place as Where } from "@signet/kernel/messaging/records"
import { AttachmentObject } from "../attachment/object.ts"
import { ConversationObject } from "../conversation/object.ts"
import { DeviceObject } from "../device/object.ts"
import { type Effects, PermanentlyRefused } from "../effects.ts"
import type { DurableEnv } from "../env.ts"
import { NameObject } from "../name/object.ts"
import { StoredObject } from "../object.ts"
import type { Entry } from "../outbox.ts"
import { PlaceObject } from "../place/object.ts"
import { fromText, toText } from "../plain.ts"
import type { Sql, Value } from "../sql.ts"
import { type Revoked, UserObject } from "../user/object.ts"

interface TestEnv extends DurableEnv {
  /** The difference of the objects' clock to this machine's, in milliseconds. */
  readonly SKEW_MS: number
  /** The migration steps of the probe's only part. */
  readonly PROBE_STEPS: readonly string[]
}

type SessionChange = Parameters<Effects["changeSessions"]>[0]

/** The effects that the objects had, in this isolate: a restart clears them. */
const done = {
  sessions: [] as SessionChange[],
  audit: [] as AuditEvent[],
  carriedOut: [] as Revoked[],
  ended: [] as { userId: PrincipalId; place: Where }[],
  delivered: [] as Entry[],
  erased: [] as string[],
}
/**
 * Set by tests: the number of failing calls to the auth service; lanes that are rejected temporarily or permanently;
 * removed users; elapsed time; the number of notices that devices miss; ended sessions.
 */
const world = {
  faults: 0,
  refused: [] as string[],
  permanentlyRefused: [] as string[],
  gone: [] as PrincipalId[],
  passedMs: 0,
  deaf: 0,
  endedSessions: [] as SessionId[],
}

export type Done = typeof done
export type World = typeof world

function answered(): void {
  if (world.faults === 0) return
  world.faults--
  throw new Error("no answer")
}

const effects: Effects = {
  async changeSessions(change) {
    answered()
    done.sessions.push(change)
  },
  async audit(events) {
    answered()
    done.audit.push(...events)
  },
  goneUsers: async (ids) => ids.filter((id) => world.gone.includes(id)),
}

/** Calls of any object for tests, besides its methods. */
const insides = {
  /** Runs the alarm's work now. */
  wake(this: StoredObject): Promise<void> {
    return this.alarm()
  },
  rowsOf(this: { sql: Sql }, text: string, ...values: Value[]): Record<string, unknown>[] {
    return this.sql.rows(text, ...values)
  },
  /** The number of statements that a method runs. */
  async counted(this: { sql: Sql }, method: string, ...args: unknown[]): Promise<number> {
    const { rows, row, run } = this.sql
    let statements = 0
    const counting =
      (one: (...of: never[]) => unknown) =>
      (...of: never[]) => {
        statements++
        return one(...of)
      }
    Object.assign(this.sql, { rows: counting(rows), row: counting(row), run: counting(run) })
    try {
      const called: unknown = Reflect.get(this, method)
      const answer: unknown = typeof called === "function" ? called.apply(this, args) : undefined
      // Before anything is awaited, because the outbox continues in the background.
      const counted = statements
      await answer
      return counted
    } finally {
      Object.assign(this.sql, { rows, row, run })
    }
  },
  /** The number of open sockets. */
  sockets(this: { ctx: DurableObjectState }): number {
    return this.ctx.getWebSockets().filter(({ readyState }) => readyState === WebSocket.READY_STATE_OPEN).length
  },
  blank(this: { isBlank(): boolean }): boolean {
    return this.isBlank()
  },
  /** In the objects' time. */
  async alarmAt(this: { ctx: DurableObjectState; env: TestEnv }): Promise<number | null> {
    const atMs = await this.ctx.storage.getAlarm()
    return atMs === null ? null : atMs + this.env.SKEW_MS
  },
  /** Loses its memory, as when its machine fails. */
  crash(this: { ctx: DurableObjectState }): void {
    this.ctx.abort("crashed")
  },
}
export type Insides = typeof insides

/** Installed on all objects of this Worker: the internals, and the clock that tests set. */
Object.assign(StoredObject.prototype, insides, {
  nowMs(this: { env: TestEnv }): number {
    return Date.now() + this.env.SKEW_MS + world.passedMs
  },
  report() {},
})

export class Conversation extends ConversationObject {
  /** A signer whose receipts contain their facts, so that tests can read them. */
  protected override receiptSigner(): ReceiptSigner {
    return (facts) => {
      const text = JSON.stringify(facts, (_, value) => (typeof value === "bigint" ? String(value) : value))
      const bytes = new TextEncoder().encode(text)
      return { bytes, hash: new Uint8Array(createHash("sha256").update(bytes).digest()) }
    }
  }
  protected override effects(): Effects {
    return effects
  }
}

export class Device extends DeviceObject {
  override applyNotice(...told: Parameters<DeviceObject["applyNotice"]>): void {
    if (world.deaf > 0) {
      world.deaf--
      throw new Error("did not hear")
    }
    super.applyNotice(...told)
  }
  protected override async keepsPush({ sessionId }: PushEndpoint): Promise<boolean> {
    return !world.endedSessions.includes(sessionId)
  }
  protected override effects(): Effects {
    return effects
  }
}

export class User extends UserObject {
  protected override effects(): Effects {
    return effects
  }
  protected override blobs(): Pick<BlobStore, "delete"> {
    return {
      async delete(key) {
        answered()
        done.erased.push(key)
      },
    }
  }
  protected override async carryOut(revoked: readonly Revoked[]): Promise<void> {
    answered()
    done.carriedOut.push(...revoked)
  }
  protected override async endDevices(userId: PrincipalId, place: Where): Promise<void> {
    done.ended.push({ userId, place })
  }
}

export class Name extends NameObject {
  protected override effects(): Effects {
    return effects
  }
}

export class Attachment extends AttachmentObject {
  protected override blobs(): Pick<BlobStore, "delete"> {
    return {
      async delete(key) {
        answered()
        done.erased.push(key)
      },
    }
  }
  protected override effects(): Effects {
    return effects
  }
}

export class Place extends PlaceObject {
  protected override effects(): Effects {
    return effects
  }
}

/** An object with only the shared base. */
export class Probe extends StoredObject<TestEnv> {
  constructor(ctx: DurableObjectState, env: TestEnv) {
    super(ctx, env, { probe: env.PROBE_STEPS })
  }
  protected override effects(): Effects {
    return effects
  }
  protected override async deliver(entry: Entry): Promise<void> {
    answered()
    if (world.refused.includes(entry.lane)) throw new Refused("INTERNAL")
    if (world.permanentlyRefused.includes(entry.lane)) throw new PermanentlyRefused("never")
    done.delivered.push(entry)
  }
  send(entries: readonly Entry[], isWaiting: boolean): Promise<void> | undefined {
    this.transact(() => {
      for (const entry of entries) this.outbox.add(entry)
    })
    return isWaiting ? this.outbox.drain() : undefined
  }
  /** Writes and then throws, so that everything is rolled back. */
  fail(entry: Entry): string {
    try {
      return this.transact(() => {
        this.outbox.add(entry)
        throw new Error("after all")
      })
    } catch {
      return "failed"
    }
  }
}

interface Call {
  readonly namespace: keyof DurableEnv
  readonly name: string
  readonly method: string
  readonly args: readonly unknown[]
}

/** Texts of ../plain.ts as request and answer: an object call, or the state that tests set and read. */
export default {
  async fetch(request: Request, env: DurableEnv): Promise<Response> {
    const asked = await request.text()
    if (new URL(request.url).pathname === "/world") {
      Object.assign(world, fromText<Partial<typeof world>>(asked))
      return new Response(toText(done))
    }
    const { namespace, name, method, args } = fromText<Call>(asked)
    try {
      const stub = env[namespace].getByName(name)
      return new Response(toText({ answer: await Reflect.apply(Reflect.get(stub, method), stub, args) }))
    } catch (error) {
      // With the runtime's marks: besides the message they are the error's only own fields.
      return new Response(toText({ fault: { ...(error as Error), message: (error as Error).message } }))
    }
  },
}
