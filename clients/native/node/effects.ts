// Performs the core's effects in a Node program.
import { open as openFile, stat } from "node:fs/promises"
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { type ByteStorage, isSignetError, type Lock, type SecretScope } from "@signet/client"
import type { MessagingStore, Op } from "@signet/client/messaging"
import {
  type BoxFailure,
  type BoxScope,
  type Effect,
  type EffectResult,
  EffectResultSchema,
  type FileRead,
  type FileWrite,
  EffectFailure_Kind as Kind,
  StoreTransactResult_Outcome as Outcome,
  Primitive,
  type PrimitiveCall,
  type StoreOp,
  StoreOp_Kind,
} from "@signet/proto/host/v1/host"
import { stretchPassphrase } from "../../core/passphrase-key.ts"
import type { Performing } from "../wasm/platform.ts"
import { type Boxes, boxFailureOf } from "./boxes.ts"
import { performHttp } from "./http.ts"

type Result = EffectResult["result"]
type Init = NonNullable<MessageInitShape<typeof EffectResultSchema>["result"]>

interface NodeEffectOptions {
  readonly store: MessagingStore
  readonly storage: ByteStorage
  readonly lock: Lock
  readonly boxes: Boxes
}

const result = (made: Init): Result => create(EffectResultSchema, { result: made }).result
const done = result({ case: "done", value: {} })
const fail = (kind: Kind, more: { box?: BoxFailure } = {}): Result =>
  result({ case: "failure", value: { kind, ...more } })

interface NodeEffects {
  perform(effect: Effect["effect"], performing: Performing): Promise<Result>
  /** Releases the lock and the boxes of a core that has ended. */
  close(): void
}

export function nodeEffects(options: NodeEffectOptions): NodeEffects {
  const lock = oneLock(options.lock)
  const perform: NodeEffects["perform"] = async (effect, performing) => {
    try {
      return (
        (await inStore(options.store, effect)) ??
        (await inStorage(options.storage, effect)) ??
        (await inBoxes(options.boxes, effect)) ??
        (await inFiles(effect)) ??
        (await elsewhere(lock, effect, performing))
      )
    } catch (error) {
      const box = boxFailureOf(error)
      if (box !== undefined) return fail(Kind.BOX, { box })
      if (isSignetError(error, "LOCK_BUSY")) return fail(Kind.LOCK_BUSY)
      if (error instanceof Error && "code" in error && (error.code === "EEXIST" || error.code === "ENOENT")) {
        return fail(Kind.FILE_STATE)
      }
      return fail(Kind.IO)
    }
  }
  return {
    perform,
    close() {
      options.boxes.releaseAll()
      lock.close()
    },
  }
}

async function elsewhere(lock: OneLock, effect: Effect["effect"], performing: Performing): Promise<Result> {
  switch (effect.case) {
    case "http":
      return performHttp(effect.value, performing)
    case "lockAcquire":
      await lock.acquire()
      return done
    case "lockRelease":
      await lock.release()
      return done
    default:
      return fail(Kind.IO)
  }
}

async function inStore(store: MessagingStore, effect: Effect["effect"]): Promise<Result | undefined> {
  switch (effect.case) {
    case "storeRead": {
      const { generation, values } = await store.read(effect.value.space, effect.value.wanted.map(nameFrom))
      const found = values.map((value) => (value === undefined ? { exists: false } : { exists: true, value }))
      return result({ case: "storeRead", value: { generation, values: found } })
    }
    case "storeList": {
      const { space, table, after, limit } = effect.value
      const range = { ...(after !== undefined && { after }), ...(limit > 0 && { limit }) }
      const rows = await store.list(space, nameFrom({ table, key: "" }).table, range)
      return result({ case: "storeList", value: { rows } })
    }
    case "storeSpaces":
      return result({ case: "storeSpaces", value: { spaces: await store.spaces() } })
    case "storeTransact": {
      const { space, expectedGeneration, ops } = effect.value
      const outcome = await store.transact(space, expectedGeneration, ops.map(opFrom))
      return result({ case: "storeTransact", value: { outcome: outcome === "ok" ? Outcome.OK : Outcome[outcome] } })
    }
    default:
      return undefined
  }
}

/** The store checks its tables itself. */
const nameFrom = ({ table, key }: { table: string; key: string }) => ({ table: table as Op["table"], key })

function opFrom({ kind, space, table, key, value }: StoreOp): Op {
  const at = { ...nameFrom({ table, key }), ...(space !== "" && { space }) }
  if (kind === StoreOp_Kind.PUT) return { op: "put", ...at, value }
  if (kind === StoreOp_Kind.CREATE) return { op: "create", ...at, value }
  if (kind === StoreOp_Kind.REMOVE) return { op: "remove", ...at }
  throw new TypeError("a write of the core has no kind")
}

async function inStorage(storage: ByteStorage, effect: Effect["effect"]): Promise<Result | undefined> {
  switch (effect.case) {
    case "storageRead": {
      const found = await storage.read(effect.value.name)
      return result({ case: "storageRead", value: found ?? {} })
    }
    case "storageWrite": {
      const { name, bytes, expected } = effect.value
      const revision = await storage.write(name, bytes, expected)
      return result({ case: "storageWrite", value: { revision: revision ?? "" } })
    }
    case "storageRemove": {
      const removed = await storage.remove(effect.value.name, effect.value.expected)
      return result({ case: "storageRemove", value: { removed } })
    }
    default:
      return undefined
  }
}

async function inBoxes(boxes: Boxes, effect: Effect["effect"]): Promise<Result | undefined> {
  switch (effect.case) {
    case "boxHold": {
      const box = await boxes.hold(scopeFrom(effect.value.scope), effect.value.create)
      return result({ case: "boxHold", value: { box } })
    }
    case "boxRelease":
      boxes.release(effect.value.box)
      return done
    case "boxRotate":
      await boxes.rotate(scopeFrom(effect.value.scope))
      return done
    case "boxDestroy":
      await boxes.destroy(scopeFrom(effect.value.scope))
      return done
    case "primitive":
      return result({ case: "primitive", value: await deferred(boxes, effect.value) })
    default:
      return undefined
  }
}

async function deferred(boxes: Boxes, call: PrimitiveCall): Promise<{ bytes?: Uint8Array<ArrayBuffer> }> {
  if (call.primitive === Primitive.ARGON2ID) return { bytes: await stretched(call) }
  if (call.primitive !== Primitive.BOX_SEAL && call.primitive !== Primitive.BOX_OPEN) return {}
  const bytes = await boxes.run(call)
  return bytes === undefined ? {} : { bytes: new Uint8Array(bytes) }
}

async function stretched({ bytes, numbers }: PrimitiveCall): Promise<Uint8Array<ArrayBuffer>> {
  const [passphrase = new Uint8Array(), salt = new Uint8Array()] = bytes
  const [memoryKiB = 0, passes = 0, lanes = 0] = numbers
  return new Uint8Array(
    await stretchPassphrase(new TextDecoder().decode(passphrase), { memoryKiB, passes, lanes }, salt),
  )
}

function scopeFrom(scope: BoxScope | undefined): SecretScope {
  const { tenant, app = "", user, device } = scope ?? {}
  return {
    app,
    ...(tenant !== undefined && { tenant }),
    ...(user !== undefined && { user }),
    ...(device !== undefined && { device }),
  }
}

async function inFiles(effect: Effect["effect"]): Promise<Result | undefined> {
  switch (effect.case) {
    case "fileInfo": {
      const { size, mtimeMs } = await stat(effect.value.path)
      const value = { size: BigInt(size), changedAtMs: BigInt(Math.trunc(mtimeMs)) }
      return result({ case: "fileInfo", value })
    }
    case "fileRead":
      return result({ case: "fileRead", value: { bytes: await readPart(effect.value) } })
    case "fileWrite":
      await writePart(effect.value)
      return done
    default:
      return undefined
  }
}

async function readPart({ path, offset, length }: FileRead): Promise<Uint8Array<ArrayBuffer>> {
  const file = await openFile(path, "r")
  try {
    const { bytesRead, buffer } = await file.read(new Uint8Array(length), 0, length, Number(offset))
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

async function writePart({ path, offset, bytes, isLast }: FileWrite): Promise<void> {
  const file = await openFile(path, offset === 0n ? "wx" : "r+", 0o600)
  try {
    await file.write(bytes, 0, bytes.length, Number(offset))
    if (isLast) await file.sync()
  } finally {
    await file.close()
  }
}

interface OneLock {
  acquire(): Promise<void>
  release(): Promise<void>
  /** Releases the lock, and does not take it any more. */
  close(): void
}

/** A lock that is held from one effect to another. */
function oneLock(lock: Lock): OneLock {
  let end = () => {}
  let running: Promise<void> = Promise.resolve()
  let isClosed = false
  return {
    acquire: () =>
      new Promise((resolve, reject) => {
        running = lock.run(async () => {
          // The core may have ended while it waited.
          if (isClosed) return
          const held = Promise.withResolvers<void>()
          end = held.resolve
          resolve()
          await held.promise
        })
        running.catch(reject)
      }),
    async release() {
      end()
      await running
    },
    close() {
      isClosed = true
      end()
    },
  }
}
