// Malformed variants of valid bytes: every kind of error in every field that can have it.
import type { DescMessage } from "@bufbuild/protobuf"
import { absent, concat } from "../bytes.ts"
import type { CanonicalCode } from "../errors.ts"
import { type FieldRules, type MessageRules, rulesOf } from "../rules.ts"
import { varint } from "../varint.ts"
import type { Sample } from "./samples.ts"
import { join, joinOne, padded, split, type Tlv, tagBytes, withContent } from "./tlv.ts"

/** Bytes that are refused, with the reason. */
export interface Malformed {
  readonly name: string
  readonly schema: DescMessage
  readonly bytes: Uint8Array
  readonly code: CanonicalCode
}

/** Every malformed variant of a valid message, including elements of lists. */
export function malformedVariants(sample: Sample): Malformed[] {
  const rules = rulesOf(sample.schema)
  const variants = [...wholeVariants(rules, sample.bytes), ...fieldVariants(rules, split(sample.bytes))]
  return variants.map(([name, bytes, code]) => {
    return { name, schema: sample.schema, bytes, code: sizeFirst(rules, bytes, code) }
  })
}

/** The size is checked before anything else. */
function sizeFirst(rules: MessageRules, bytes: Uint8Array, code: CanonicalCode): CanonicalCode {
  return bytes.length > rules.maxSize ? "CPB_TOO_LARGE" : code
}

type Variant = readonly [name: string, bytes: Uint8Array, code: CanonicalCode]

function wholeVariants(rules: MessageRules, bytes: Uint8Array): Variant[] {
  const fields = split(bytes)
  const ends = fields.at(-1)?.wire === 2n ? bytes.subarray(0, -1) : concat(bytes, Uint8Array.of(0x80))
  return [
    ["nothing", absent, "CPB_REQUIRED"],
    ["cut off", ends, "CPB_TRUNCATED"],
    ["a zero byte after the end", concat(bytes, Uint8Array.of(0)), "CPB_TRAILING"],
    ["an unknown field after the end", concat(bytes, Uint8Array.of(0xf8, 0x07, 1)), "CPB_UNKNOWN_FIELD"],
    ["an unknown field of unknown type", concat(bytes, Uint8Array.of(0xfc, 0x07)), "CPB_UNKNOWN_FIELD"],
    ["a tag of eleven bytes", concat(bytes, new Uint8Array(11).fill(0xff)), "CPB_RANGE"],
    ["a tag above 64 bits", concat(bytes, new Uint8Array(9).fill(0xff), Uint8Array.of(2)), "CPB_RANGE"],
    ["longer than max_size", concat(bytes, new Uint8Array(rules.maxSize + 1 - bytes.length)), "CPB_TOO_LARGE"],
  ]
}

function fieldVariants(rules: MessageRules, fields: readonly Tlv[]): Variant[] {
  return fields.flatMap((tlv, at) => {
    const field = rules.byNumber.get(tlv.number)
    if (field === undefined) throw new Error("a sample has no unknown field")
    const replaced = (...parts: readonly Uint8Array[]) =>
      concat(join(fields.slice(0, at)), ...parts, join(fields.slice(at + 1)))
    const named = `${field.name}${field.list ? ` ${at}` : ""}`
    const next = fields[at + 1]
    return [
      ...shapeVariants(field, tlv, next, at, fields, replaced),
      ...(tlv.wire === 0n
        ? numberVariants(field, tlv, replaced)
        : contentVariants(field, tlv, fields[at - 1], replaced)),
    ].map(([name, bytes, code]): Variant => [`${named}: ${name}`, bytes, code])
  })
}

type Replaced = (...parts: readonly Uint8Array[]) => Uint8Array

function shapeVariants(
  field: FieldRules,
  tlv: Tlv,
  next: Tlv | undefined,
  at: number,
  fields: readonly Tlv[],
  replaced: Replaced,
): Variant[] {
  const one = joinOne(tlv)
  const alone = fields.filter(({ number }) => number === tlv.number).length === 1
  const variants: Variant[] = [
    ["tag not minimal", replaced(padded(tagBytes(tlv)), varint(tlv.value), tlv.content), "CPB_NON_MINIMAL_VARINT"],
    [
      "number or length not minimal",
      replaced(tagBytes(tlv), padded(varint(tlv.value)), tlv.content),
      "CPB_NON_MINIMAL_VARINT",
    ],
    ["fixed64", replaced(tagBytes({ ...tlv, wire: 1n }), new Uint8Array(8)), "CPB_WIRE_TYPE"],
    ["fixed32", replaced(tagBytes({ ...tlv, wire: 5n }), new Uint8Array(4)), "CPB_WIRE_TYPE"],
    ["group", replaced(tagBytes({ ...tlv, wire: 3n }), tagBytes({ ...tlv, wire: 4n })), "CPB_WIRE_TYPE"],
    ["the other wire type", replaced(tagBytes({ ...tlv, wire: 2n - tlv.wire }), Uint8Array.of(1, 1)), "CPB_WIRE_TYPE"],
    ["twice", replaced(one, one), field.set ? "CPB_SET_ORDER" : "CPB_DUPLICATE_FIELD"],
  ]
  if (field.required && alone) variants.push(["absent", replaced(), "CPB_REQUIRED"])
  if (next !== undefined) {
    const swapped = concat(join(fields.slice(0, at)), joinOne(next), one, join(fields.slice(at + 2)))
    variants.push(["after the next", swapped, next.number === tlv.number ? "CPB_SET_ORDER" : "CPB_FIELD_ORDER"])
  }
  return variants
}

function numberVariants(field: FieldRules, tlv: Tlv, replaced: Replaced): Variant[] {
  const holding = (value: bigint) => replaced(tagBytes(tlv), varint(value))
  const variants: Variant[] = [["zero", holding(0n), "CPB_DEFAULT_ENCODED"]]
  if (field.max < 0xffff_ffff_ffff_ffffn) variants.push(["above its range", holding(field.max + 1n), "CPB_RANGE"])
  if (field.known !== undefined) variants.push(["no such value", holding(99n), "CPB_RANGE"])
  if (field.knownBits !== undefined) variants.push(["an unknown bit", holding(field.knownBits + 1n), "CPB_RANGE"])
  const nine = new Uint8Array(9).fill(0xff)
  variants.push(["65 bits", replaced(tagBytes(tlv), nine, Uint8Array.of(3)), "CPB_RANGE"])
  return variants
}

function contentVariants(field: FieldRules, tlv: Tlv, previous: Tlv | undefined, replaced: Replaced): Variant[] {
  const holding = (content: Uint8Array) => replaced(joinOne(withContent(tlv, content)))
  const variants: Variant[] = [["empty", holding(absent), "CPB_DEFAULT_ENCODED"]]
  variants.push(["a length beyond the end", replaced(tagBytes(tlv), varint(1n << 40n), tlv.content), "CPB_TRUNCATED"])
  if (field.message !== undefined) {
    // The first element of a list represents the others.
    if (previous?.number === tlv.number) return variants
    const { message } = field
    const inner = fieldVariants(message, split(tlv.content)).map(
      ([name, bytes, code]): Variant =>
        // An element without content is reported as empty, not as incomplete.
        [name, holding(bytes), bytes.length === 0 ? "CPB_DEFAULT_ENCODED" : sizeFirst(message, bytes, code)],
    )
    return [...variants, ...inner]
  }
  if (field.kind === "string") {
    const upper = tlv.content.map((byte, at) => (at === 0 ? 0x41 : byte))
    const accented = concat(tlv.content, Uint8Array.of(0xc3, 0xa9))
    return [
      ...variants,
      ["upper case", holding(upper), "CPB_ASCII"],
      ["not ASCII", holding(accented), "CPB_ASCII"],
      ["129 characters", holding(new Uint8Array(129).fill(0x61)), "CPB_LENGTH"],
    ]
  }
  if (field.min === field.max) {
    variants.push(["a byte short", holding(tlv.content.subarray(1)), "CPB_LENGTH"])
    variants.push(["a byte long", holding(concat(tlv.content, Uint8Array.of(1))), "CPB_LENGTH"])
  }
  return variants
}
