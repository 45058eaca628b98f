import type { Turns } from "./turns.ts"

/**
 * Lets a messenger in Node draw from the seed what it draws from the platform: bytes that overwrite secrets. A core draws
 * them from its host.
 *
 * @returns Ends it.
 */
export function drawFrom(turns: Turns): () => void {
  const { crypto } = globalThis
  const { getRandomValues } = crypto
  const set = (value: typeof getRandomValues) =>
    Object.defineProperty(crypto, "getRandomValues", { value, configurable: true, writable: true })
  set((array) => {
    const { bytes } = turns
    if (bytes === undefined || !ArrayBuffer.isView(array)) getRandomValues.call(crypto, array)
    else new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(bytes(array.byteLength))
    return array
  })
  return () => set(getRandomValues)
}
