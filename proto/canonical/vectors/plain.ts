import type { DescMessage, Message } from "@bufbuild/protobuf"
import { toHex } from "../bytes.ts"

/** Converts a value to plain JSON: bytes as hexadecimal, 64-bit numbers as decimal strings, undefined as null. */
export function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return toHex(value)
  if (typeof value === "bigint") return String(value)
  if (value === undefined) return null
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== "object" || value === null) return value
  const kept = Object.entries(value).filter(([, each]) => typeof each !== "function")
  return Object.fromEntries(kept.map(([name, each]) => [snake(name), plain(each)]))
}

/** Converts a message to plain JSON with the names of its schema; absent fields are omitted. */
export function plainMessage(schema: DescMessage, message: Message): object {
  const entries = schema.fields.map((field): [string, unknown] => {
    const value: unknown = Reflect.get(message, field.localName)
    if (field.message === undefined || !Array.isArray(value)) return [field.name, plain(value)]
    const element = field.message
    return [field.name, value.map((each: Message) => plainMessage(element, each))]
  })
  return Object.fromEntries(entries.filter(([, value]) => !isAbsent(value)))
}

function isAbsent(value: unknown): boolean {
  return value === "" || value === "0" || value === 0 || (Array.isArray(value) && value.length === 0)
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
