import type { Page } from "playwright-core"

/**
 * Everything that a page's origin stores in the browser, as one text: local and session storage, cookies that scripts
 * read, every record of every IndexedDB database, and the bodies of caches. Bytes are text of the same codes.
 */
export function keptBy(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const settled = <Result>(request: IDBRequest<Result>) =>
      new Promise<Result>((resolve, reject) => {
        request.onsuccess = () => resolve(request.result)
        request.onerror = () => reject(request.error)
      })
    const textOf = (bytes: Uint8Array): string => {
      let text = ""
      for (const byte of bytes) text += String.fromCharCode(byte)
      return text
    }
    const shown = (value: unknown): unknown => {
      if (value instanceof ArrayBuffer) return textOf(new Uint8Array(value))
      if (ArrayBuffer.isView(value)) return textOf(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
      if (value instanceof Map) return [...value].map(shown)
      if (Array.isArray(value)) return value.map(shown)
      if (typeof value === "bigint") return String(value)
      // A key that scripts cannot export has no content here.
      if (typeof value !== "object" || value === null || value instanceof CryptoKey) return value
      return Object.entries(value).map(shown)
    }
    const kept: unknown[] = [{ ...localStorage }, { ...sessionStorage }, document.cookie]
    for (const { name = "" } of await indexedDB.databases()) {
      const database = await settled(indexedDB.open(name))
      for (const store of database.objectStoreNames) {
        const objects = database.transaction(store).objectStore(store)
        kept.push(name, store, shown(await settled(objects.getAllKeys())), shown(await settled(objects.getAll())))
      }
      database.close()
    }
    for (const name of await caches.keys()) {
      const cache = await caches.open(name)
      for (const request of await cache.keys()) {
        const isText = /\/(chat|settings\.json)$/.test(new URL(request.url).pathname)
        kept.push(request.url, isText ? await (await cache.match(request))?.text() : "")
      }
    }
    return JSON.stringify(kept)
  })
}
