import { type DescField, type DescMessage, getOption, hasOption, ScalarType } from "@bufbuild/protobuf"
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt"
import { canonical, Repetition, rule } from "@signet/proto/credential/v1/canonical_options"
import { CanonicalError } from "./errors.ts"

/** The encoding and limits of one field, from its schema. */
export interface FieldRules {
  readonly number: number
  /** The property name in the generated message. */
  readonly name: string
  readonly kind: "number" | "bigint" | "bytes" | "string" | "message"
  readonly list: boolean
  readonly set: boolean
  readonly maxItems: number
  readonly required: boolean
  /** Bounds of a number, or of the length of bytes and strings. */
  readonly min: bigint
  readonly max: bigint
  /** Allowed bits of a number; undefined for all. */
  readonly knownBits: bigint | undefined
  /** The values of an enum. */
  readonly known: ReadonlySet<bigint> | undefined
  /** The rules of an element, if kind is "message". */
  readonly message: MessageRules | undefined
}

/** The encoding of a canonical message. */
export interface MessageRules {
  readonly schema: DescMessage
  readonly maxSize: number
  /** The domain label of its signatures; empty for a message that is not signed. */
  readonly label: string
  /** Ascending by number. */
  readonly fields: readonly FieldRules[]
  readonly byNumber: ReadonlyMap<bigint, FieldRules>
  /** Nesting depth: 1 without nested messages. */
  readonly levels: number
}

const maxLevels = 4
const uint32Max = 0xffff_ffffn
const uint64Max = 0xffff_ffff_ffff_ffffn
const compiled = new WeakMap<DescMessage, MessageRules>()

/**
 * Returns the rules of a message, from its options in signet.credential.v1.canonical_options.
 *
 * @throws CanonicalError CPB_SCHEMA for a message without a canonical encoding: an error in the schema.
 */
export function rulesOf(schema: DescMessage, depth = 1): MessageRules {
  const done = compiled.get(schema)
  if (done !== undefined) return done
  if (depth > maxLevels) throw wrong(schema.typeName, "contains itself")
  const { maxSize, label } = getOption(schema, canonical)
  if (maxSize === 0) throw wrong(schema.typeName, "has no max_size")
  if (schema.oneofs.length > 0) throw wrong(schema.typeName, "has a oneof")
  const fields = schema.fields.map((field) => fieldRules(field, depth)).sort((a, b) => a.number - b.number)
  const levels = 1 + Math.max(0, ...fields.map(({ message }) => message?.levels ?? 0))
  if (levels > maxLevels) throw wrong(schema.typeName, "nests too deeply")
  const rules: MessageRules = {
    schema,
    maxSize,
    label,
    fields,
    byNumber: new Map(fields.map((field) => [BigInt(field.number), field])),
    levels,
  }
  compiled.set(schema, rules)
  return rules
}

function wrong(where: string, what: string): CanonicalError {
  return new CanonicalError("CPB_SCHEMA", `${where} ${what}`)
}

function fieldRules(field: DescField, depth: number): FieldRules {
  const where = `${field.parent.typeName}.${field.name}`
  const stated = getOption(field, rule)
  if (!hasOption(field, rule) && (field.scalar === undefined || field.scalar === ScalarType.BYTES)) {
    throw wrong(where, "states no rule")
  }
  const list = field.fieldKind === "list"
  if (list && (stated.repetition === Repetition.UNSPECIFIED || stated.maxItems === 0)) {
    throw wrong(where, "states no repetition or max_items")
  }
  if (!list && field.presence === FeatureSet_FieldPresence.EXPLICIT) throw wrong(where, "has presence of its own")
  const type = typeRules(field, where, depth)
  const sized = stated.length === 0 ? stated.maxLength : stated.length
  const numeric = type.kind === "number" || type.kind === "bigint"
  if (list && type.kind !== "message") throw wrong(where, "repeats what is not a message")
  if (type.kind === "bytes" && sized === 0) throw wrong(where, "states no length")
  return {
    number: field.number,
    name: field.localName,
    list,
    set: stated.repetition === Repetition.SET,
    maxItems: stated.maxItems,
    required: stated.required,
    min: numeric ? stated.min : BigInt(stated.length),
    max: numeric ? (stated.max === 0n ? type.max : stated.max) : sized === 0 ? type.max : BigInt(sized),
    knownBits: stated.knownBits === 0n ? undefined : stated.knownBits,
    kind: type.kind,
    known: type.known,
    message: type.message,
  }
}

type TypeRules = Pick<FieldRules, "kind" | "max" | "known" | "message">

function typeRules(field: DescField, where: string, depth: number): TypeRules {
  const plain = { known: undefined, message: undefined }
  if (field.enum !== undefined) {
    const known = new Set(field.enum.values.map((value) => BigInt(value.number)))
    return { ...plain, kind: "number", max: 0x7fff_ffffn, known }
  }
  // Allowed only as a list element: a single message could be absent or empty, which are two encodings of the same
  // content.
  if (field.message !== undefined && field.fieldKind === "list") {
    const message = rulesOf(field.message, depth + 1)
    return { ...plain, kind: "message", max: BigInt(message.maxSize), message }
  }
  switch (field.scalar) {
    case ScalarType.UINT32:
      return { ...plain, kind: "number", max: uint32Max }
    case ScalarType.UINT64:
      return { ...plain, kind: "bigint", max: uint64Max }
    case ScalarType.BYTES:
      return { ...plain, kind: "bytes", max: 0n }
    case ScalarType.STRING:
      return { ...plain, kind: "string", max: 128n }
    default:
      throw wrong(where, "has a type without a canonical encoding")
  }
}
