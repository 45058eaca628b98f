import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf"
import { compareBytes, concat, equalBytes, utf8 } from "./bytes.ts"
import { CanonicalError, ensure } from "./errors.ts"
import { type FieldRules, type MessageRules, rulesOf } from "./rules.ts"
import { type Cursor, readVarint, take, varint } from "./varint.ts"

/**
 * Returns the canonical encoding of a message (CPB1, README.md). Elements of a set may be in any order; the encoding
 * sorts them.
 *
 * @throws CanonicalError CPB_* for a message that violates a rule of its schema.
 */
export function encode<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): Uint8Array {
  const rules = rulesOf(schema)
  const bytes = write(rules, message)
  parse(rules, bytes)
  return bytes
}

/**
 * Decodes canonical bytes. The message may share memory with `bytes`.
 *
 * @throws CanonicalError CPB_* for any other encoding than the canonical one.
 */
export function decode<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  const rules = rulesOf(schema)
  const message = create(schema)
  assign(message, parse(rules, bytes))
  // Defense in depth: the parser above accepts only what the writer would write.
  ensure(equalBytes(write(rules, message), bytes), "CPB_NOT_REPRODUCED")
  return message
}

/** A decoded field: its property and its value. */
type Entry = readonly [field: FieldRules, value: unknown]

function assign(message: object, entries: readonly Entry[]): void {
  for (const [field, value] of entries) Reflect.set(message, field.name, value)
}

function parse(rules: MessageRules, bytes: Uint8Array): Entry[] {
  ensure(bytes.length <= rules.maxSize, "CPB_TOO_LARGE", rules.schema.name)
  const cursor: Cursor = { bytes, at: 0, end: bytes.length }
  const entries: Entry[] = []
  let last: FieldRules | undefined
  while (cursor.at < cursor.end) {
    const field = readTag(rules, cursor)
    ensure(last === undefined || field.number > last.number, orderCode(last, field), field.name)
    entries.push([field, field.list ? readList(field, cursor) : readValue(field, cursor)])
    last = field
  }
  const present = new Set(entries.map(([field]) => field))
  const missing = rules.fields.find((field) => field.required && !present.has(field))
  if (missing !== undefined) throw new CanonicalError("CPB_REQUIRED", missing.name)
  return entries
}

function orderCode(last: FieldRules | undefined, field: FieldRules) {
  return last?.number === field.number ? "CPB_DUPLICATE_FIELD" : "CPB_FIELD_ORDER"
}

function readTag(rules: MessageRules, cursor: Cursor): FieldRules {
  const tag = readVarint(cursor)
  const number = tag >> 3n
  // No field has number 0, so these bytes belong to no field.
  ensure(number !== 0n, "CPB_TRAILING")
  const field = rules.byNumber.get(number)
  if (field === undefined) throw new CanonicalError("CPB_UNKNOWN_FIELD", rules.schema.name)
  ensure((tag & 7n) === wireType(field), "CPB_WIRE_TYPE", field.name)
  return field
}

function wireType(field: FieldRules): bigint {
  return field.kind === "number" || field.kind === "bigint" ? 0n : 2n
}

/** Reads the elements of a repeated field: consecutive, each with the field's tag. */
function readList(field: FieldRules, cursor: Cursor): unknown[] {
  const tag = tagOf(field)
  const values: unknown[] = []
  let previous: Uint8Array | undefined
  do {
    if (values.length > 0) cursor.at += tag.length
    ensure(values.length < field.maxItems, "CPB_LENGTH", field.name)
    const from = cursor.at
    values.push(readValue(field, cursor))
    if (!field.set) continue
    const element = take({ bytes: cursor.bytes, at: from, end: cursor.at }, BigInt(cursor.at - from))
    const content = withoutLength(element)
    ensure(previous === undefined || compareBytes(previous, content) < 0, "CPB_SET_ORDER", field.name)
    previous = content
  } while (equalBytes(cursor.bytes.subarray(cursor.at, Math.min(cursor.at + tag.length, cursor.end)), tag))
  return values
}

function withoutLength(element: Uint8Array): Uint8Array {
  const cursor: Cursor = { bytes: element, at: 0, end: element.length }
  return take(cursor, readVarint(cursor))
}

function readValue(field: FieldRules, cursor: Cursor): unknown {
  const first = readVarint(cursor)
  if (wireType(field) === 0n) return checkNumber(field, first)
  const bytes = take(cursor, first)
  ensure(bytes.length > 0, "CPB_DEFAULT_ENCODED", field.name)
  if (field.message !== undefined) {
    const message = create(field.message.schema)
    assign(message, parse(field.message, bytes))
    return message
  }
  ensure(bytes.length >= field.min && bytes.length <= field.max, "CPB_LENGTH", field.name)
  if (field.kind === "bytes") return bytes
  const text = String.fromCharCode(...bytes)
  ensure(/^[a-z0-9._:/-]+$/.test(text), "CPB_ASCII", field.name)
  return text
}

function checkNumber(field: FieldRules, value: bigint): bigint | number {
  ensure(value !== 0n, "CPB_DEFAULT_ENCODED", field.name)
  ensure(value >= field.min && value <= field.max, "CPB_RANGE", field.name)
  ensure(field.known === undefined || field.known.has(value), "CPB_RANGE", field.name)
  ensure(field.knownBits === undefined || (value & ~field.knownBits) === 0n, "CPB_RANGE", field.name)
  return field.kind === "bigint" ? value : Number(value)
}

function tagOf(field: FieldRules): Uint8Array {
  return varint((BigInt(field.number) << 3n) | wireType(field))
}

function write(rules: MessageRules, message: object): Uint8Array {
  const unknown: unknown = Reflect.get(message, "$unknown")
  ensure(!Array.isArray(unknown) || unknown.length === 0, "CPB_UNKNOWN_FIELD", rules.schema.name)
  return concat(
    ...rules.fields.map((field) => {
      const value: unknown = Reflect.get(message, field.name)
      const elements = Array.isArray(value) ? value.map((each) => writeValue(field, each)) : [writeValue(field, value)]
      if (field.set) elements.sort(compareBytes)
      const tag = tagOf(field)
      return concat(...elements.flatMap((element) => writeElement(field, tag, element)))
    }),
  )
}

/** Encodes a number as a varint, or returns the content of a length-delimited value. */
function writeValue(field: FieldRules, value: unknown): Uint8Array {
  if (field.message !== undefined && typeof value === "object" && value !== null) return write(field.message, value)
  if (field.kind === "bytes" && value instanceof Uint8Array) return value
  if (field.kind === "string" && typeof value === "string") return utf8(value)
  if (field.kind === "bigint" && typeof value === "bigint") return varint(value)
  if (field.kind === "number" && typeof value === "number" && Number.isSafeInteger(value)) return varint(BigInt(value))
  throw new CanonicalError("CPB_RANGE", field.name)
}

function writeElement(field: FieldRules, tag: Uint8Array, element: Uint8Array): Uint8Array[] {
  if (wireType(field) === 0n) return element.length === 1 && element[0] === 0 ? [] : [tag, element]
  // An absent field is omitted. An empty element is written, and the parser then refuses it.
  return element.length === 0 && !field.list ? [] : [tag, varint(BigInt(element.length)), element]
}
