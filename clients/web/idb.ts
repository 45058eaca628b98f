// One object store in IndexedDB. A change counts when its transaction is complete, not when its request is.

const store = "kept"

/** @returns Opens the database, again after another tab has closed it. */
export function openDatabase(name: string): () => Promise<IDBDatabase> {
  let opened: Promise<IDBDatabase> | undefined
  const forget = () => {
    opened = undefined
  }
  return () => {
    opened ??= connect(name, forget).catch((error: unknown) => {
      forget()
      throw error
    })
    return opened
  }
}

async function connect(name: string, onGone: () => void): Promise<IDBDatabase> {
  const request = indexedDB.open(name, 1)
  request.onupgradeneeded = () => request.result.createObjectStore(store)
  const database = await resultOf(request)
  // A tab that deletes or upgrades the database must not wait for this one.
  database.onversionchange = () => {
    database.close()
    onGone()
  }
  database.onclose = onGone
  return database
}

export async function readIn(open: () => Promise<IDBDatabase>, key: string): Promise<unknown> {
  return resultOf((await open()).transaction(store).objectStore(store).get(key))
}

/**
 * Reads, decides and writes in one transaction.
 *
 * @param work Synchronous, because the transaction would end at an await.
 * @param check Checks the written value and the result of `work`. If it throws, the transaction is rolled back.
 * @returns The result of `work`, after it is on the disk.
 */
export async function changeIn<T>(
  open: () => Promise<IDBDatabase>,
  key: string,
  work: (before: unknown, at: IDBObjectStore) => T,
  check?: (after: unknown, value: T) => void,
): Promise<T> {
  const transaction = (await open()).transaction(store, "readwrite", { durability: "strict" })
  const at = transaction.objectStore(store)
  let done: { value: T } | undefined
  let thrown: unknown
  await new Promise<void>((resolve, reject) => {
    const orUndo = (step: () => void) => () => {
      try {
        step()
      } catch (error) {
        thrown = error
        transaction.abort()
      }
    }
    const found = at.get(key)
    found.onsuccess = orUndo(() => {
      const value = work(found.result, at)
      done = { value }
      if (check === undefined) return
      const now = at.get(key)
      now.onsuccess = orUndo(() => check(now.result, value))
    })
    transaction.oncomplete = () => resolve()
    transaction.onabort = () => reject(thrown ?? transaction.error ?? new Error("the transaction was aborted"))
  })
  if (done === undefined) throw new Error("the transaction did nothing")
  return done.value
}

export async function removeIn(open: () => Promise<IDBDatabase>, range: IDBKeyRange): Promise<void> {
  const transaction = (await open()).transaction(store, "readwrite", { durability: "strict" })
  transaction.objectStore(store).delete(range)
  await new Promise<void>((resolve, reject) => {
    transaction.oncomplete = () => resolve()
    transaction.onabort = () => reject(transaction.error ?? new Error("the transaction was aborted"))
  })
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error ?? new Error("IndexedDB failed"))
  })
}
