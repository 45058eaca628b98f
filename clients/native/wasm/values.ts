// Values between a host and the engine: numbers, texts and bytes, each copied.
import type { Exports } from "./exports.ts"

export type Value = number | string | Uint8Array | undefined

/** The engine threw, trapped, or has no memory left. */
export class EngineError extends Error {
  override readonly name = "EngineError"
}

const utf8 = new TextEncoder()
const text = new TextDecoder()

export interface Values {
  /** A new value of the engine, which the caller frees. */
  toEngine(value: Value): number
  /** A copy of a value of the engine. @throws EngineError for another kind of value. */
  fromEngine(value: number): Value
  /** Runs with a zero-terminated copy in the engine's memory. */
  withCopy<T>(data: Uint8Array, use: (pointer: number) => T): T
  withName<T>(name: string, use: (pointer: number) => T): T
  /** Copies bytes out of the engine's memory. */
  copyOut(pointer: number, length: number): Uint8Array
  /** Reads a number of 32 bits. */
  word(pointer: number): number
  /** The value, if it is no exception. @throws EngineError with the exception's text. */
  checked(value: number): number
  /** Twelve bytes for results by pointer. */
  readonly scratch: number
}

export function valuesOf(wasm: Exports): Values {
  const scratch = wasm.wasm_malloc(12)
  const bytes = () => new Uint8Array(wasm.memory.buffer)
  const word = (pointer: number) => new DataView(wasm.memory.buffer).getUint32(pointer, true)

  function withCopy<T>(data: Uint8Array, use: (pointer: number) => T): T {
    const pointer = wasm.wasm_malloc(data.length + 1)
    if (pointer === 0) throw new EngineError("the engine has no memory left")
    bytes().set(data, pointer)
    bytes()[pointer + data.length] = 0
    const made = use(pointer)
    wasm.wasm_free(pointer)
    return made
  }

  function textFrom(value: number): string | undefined {
    const pointer = wasm.qjs_get_string_len(value, scratch)
    if (pointer === 0) return undefined
    const found = text.decode(bytes().subarray(pointer, pointer + word(scratch)))
    wasm.qjs_free_cstring(pointer)
    return found
  }

  function bytesFrom(value: number): Uint8Array {
    const buffer = wasm.qjs_get_typed_array_buffer(value, scratch, scratch + 4, scratch + 8)
    if (wasm.qjs_is_exception(buffer) !== 0) throw new EngineError("an argument is neither number, text nor bytes")
    const [offset, length] = [word(scratch), word(scratch + 4)]
    const start = wasm.qjs_get_array_buffer(buffer, scratch + 8) + offset
    const found = bytes().slice(start, start + length)
    wasm.qjs_free_value(buffer)
    return found
  }

  return {
    scratch,
    word,
    withCopy,
    withName: (name, use) => withCopy(utf8.encode(name), use),
    copyOut: (pointer, length) => bytes().slice(pointer, pointer + length),
    toEngine(value) {
      if (value === undefined) return wasm.qjs_get_undefined()
      if (typeof value === "number") return wasm.qjs_new_number(value)
      if (typeof value !== "string") {
        return withCopy(value, (pointer) => wasm.qjs_new_uint8_array(pointer, value.length))
      }
      const encoded = utf8.encode(value)
      return withCopy(encoded, (pointer) => wasm.qjs_new_string(pointer, encoded.length))
    },
    fromEngine(value) {
      if (wasm.qjs_is_number(value) !== 0) return wasm.qjs_get_float64(value)
      if (wasm.qjs_is_undefined(value) !== 0) return undefined
      return wasm.qjs_is_string(value) === 0 ? bytesFrom(value) : textFrom(value)
    },
    checked(value) {
      if (wasm.qjs_is_exception(value) === 0) return value
      const message = textFrom(wasm.qjs_get_exception()) ?? "an exception"
      throw new EngineError(`the engine threw ${message.slice(0, 200)}`)
    },
  }
}
