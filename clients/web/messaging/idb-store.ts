import type { MessagingStore, Op, Space, Transacted } from "@signet/client/messaging"
import { MessagingError } from "../../core/messaging/errors.ts"
import { createBroadcast } from "../broadcast.ts"
import { asMessagingError, openDatabase, openExisting, resultOf, rows, spaces } from "./database.ts"
import { inTurn } from "./turns.ts"

/**
 * A messaging store in IndexedDB, which any number of tabs and workers of an origin may share.
 *
 * A transaction is on the disk when it resolves. Its outcome is decided by the generation inside the transaction, so
 * tabs need no coordination. The browser is asked for persistent storage; `durability` has its answer.
 *
 * @param database The database's name; only this store may use it.
 * @throws MessagingError STATE_NEWER_VERSION, STORE_FULL; STORE_UNAVAILABLE while a frozen tab has an earlier version of
 *   it open
 */
export async function openIdbStore(database = "signet-messages"): Promise<MessagingStore> {
  return storeOver(await openDatabase(database), database)
}

/**
 * Opens an existing store for reads, in the version that it has: other tabs keep it open.
 *
 * @returns Undefined if there is none.
 * @throws MessagingError STATE_NEWER_VERSION
 */
export async function openExistingIdbStore(database: string): Promise<MessagingStore | undefined> {
  const db = await openExisting(database)
  return db && storeOver(db, database)
}

async function storeOver(db: IDBDatabase, database: string): Promise<MessagingStore> {
  const name = `signet messages ${database}`
  const channel = createBroadcast(name)
  db.onversionchange = () => db.close()

  return {
    durability: (await isPersistent()) ? "persistent" : "best-effort",
    async read(space, wanted) {
      const transaction = begin(db, "readonly")
      const table = transaction.objectStore(rows)
      const [generation, ...values] = await Promise.all([
        resultOf(transaction.objectStore(spaces).get(space)),
        ...wanted.map(({ table: kind, key }) => resultOf(table.get([space, kind, key]))),
      ])
      return { generation: parseGeneration(generation), values: values.map((value) => value && parseBytes(value)) }
    },
    async list(space, table, { after = "", limit } = {}) {
      if (limit === 0) return []
      // An array sorts after every text.
      const range = IDBKeyRange.bound([space, table, after], [space, table, []], true)
      const source = begin(db, "readonly").objectStore(rows)
      const [keys, values] = await Promise.all([
        resultOf(source.getAllKeys(range, limit)),
        resultOf(source.getAll(range, limit)),
      ])
      return keys.map((key, i) => ({ key: String(Object(key)[2]), value: parseBytes(values[i]) }))
    },
    spaces: async () => (await resultOf(begin(db, "readonly").objectStore(spaces).getAllKeys())).map(String),
    async transact(space, expectedGeneration, ops) {
      const done = await write(begin(db, "readwrite"), space, expectedGeneration, ops)
      if (done === "ok") channel.post(space)
      return done
    },
    watch(listener) {
      channel.subscribe((space) => typeof space === "string" && listener(space))
    },
    inTurn: (space, work) => inTurn(`${name} ${space}`, work),
    async close() {
      channel.suspend()
      db.close()
    },
  }
}

/** @throws MessagingError CLOSED */
function begin(db: IDBDatabase, mode: "readonly" | "readwrite"): IDBTransaction {
  try {
    return db.transaction([spaces, rows], mode, { durability: "strict" })
  } catch (error) {
    throw asMessagingError(error)
  }
}

/** Nothing is awaited between the requests, because the transaction would end. It counts when it is complete. */
function write(transaction: IDBTransaction, space: Space, expected: bigint, ops: readonly Op[]): Promise<Transacted> {
  let result: Transacted = "ok"
  let thrown: unknown
  const undo = (as: Transacted) => {
    result = as
    transaction.abort()
  }
  const generations = transaction.objectStore(spaces)
  const table = transaction.objectStore(rows)
  const found = generations.get(space)
  found.onsuccess = () => {
    try {
      if (parseGeneration(found.result) !== expected) return undo("GENERATION_MISMATCH")
      generations.put(expected + 1n, space)
      for (const op of ops) {
        const key = [op.space ?? space, op.table, op.key]
        if (op.op === "remove") table.delete(key)
        // A copy, because a view would be stored with its whole buffer.
        else if (op.op === "put") table.put(op.value.slice(), key)
        // An existing key aborts the transaction by itself.
        else
          table.add(op.value.slice(), key).onerror = ({ target }) => {
            if (Object(target).error?.name === "ConstraintError") result = "EXISTS"
          }
      }
    } catch (error) {
      thrown = error
      transaction.abort()
    }
  }
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve("ok")
    transaction.onabort = () => {
      if (result !== "ok") resolve(result)
      else reject(asMessagingError(thrown ?? transaction.error ?? new Error("the transaction was aborted")))
    }
  })
}

/** Pages request persistence; workers read the answer. */
async function isPersistent(): Promise<boolean> {
  const { storage } = navigator
  try {
    return (await storage.persisted()) || (typeof storage.persist === "function" && (await storage.persist()))
  } catch {
    return false
  }
}

function parseGeneration(value: unknown): bigint {
  if (value === undefined) return 0n
  if (typeof value === "bigint") return value
  throw new MessagingError("STATE_TAMPERED", "a stored generation is not a number")
}

function parseBytes(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw new MessagingError("STATE_TAMPERED", "a stored row has no bytes")
}
