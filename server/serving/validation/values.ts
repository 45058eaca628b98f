// Rules of single values, in the words and the order of protovalidate.
import type { DescEnum, DescMessage, Message } from "@bufbuild/protobuf"
import {
  type BytesRules,
  BytesRulesSchema,
  type EnumRules,
  EnumRulesSchema,
  type FieldRules,
  FieldRulesSchema,
  Int32RulesSchema,
  Int64RulesSchema,
  type StringRules,
  StringRulesSchema,
  UInt32RulesSchema,
  UInt64RulesSchema,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js"
import { rulesIn, UnknownRule } from "./known.ts"

/** What is wrong with a value: each broken rule in a sentence. */
export type Check = (value: unknown) => string[]

/** The checks of a scalar or an enum. @throws UnknownRule */
export function valueChecks(rules: FieldRules, desc: DescEnum | undefined, what: string): Check[] {
  const { type } = rules
  switch (type.case) {
    case undefined:
      return []
    case "string":
      return stringChecks(type.value, what)
    case "bytes":
      return bytesChecks(type.value, what)
    case "enum":
      if (desc === undefined) throw new UnknownRule(`${what}: rules of an enum for what is none`)
      return enumChecks(type.value, desc, what)
    case "int32":
      return rangeChecks(Int32RulesSchema, type.value, what)
    case "int64":
      return rangeChecks(Int64RulesSchema, type.value, what)
    case "uint32":
      return rangeChecks(UInt32RulesSchema, type.value, what)
    case "uint64":
      return rangeChecks(UInt64RulesSchema, type.value, what)
    default:
      throw new UnknownRule(`${what}: rules of ${type.case}`)
  }
}

/** A check that finds one thing wrong. */
const unless =
  <T>(isOf: (value: unknown) => value is T, isFine: (value: T) => boolean, sentence: string): Check =>
  (value) => {
    // A value of another type is a fault of the program: the message was read by its schema.
    if (!isOf(value)) throw new TypeError(`a value is not what its schema says: ${sentence}`)
    return isFine(value) ? [] : [sentence]
  }

const isString = (value: unknown): value is string => typeof value === "string"
const isBytes = (value: unknown): value is Uint8Array => value instanceof Uint8Array
const isNumber = (value: unknown): value is number | bigint => typeof value === "number" || typeof value === "bigint"
const isEnum = (value: unknown): value is number => typeof value === "number"

function stringChecks(rules: StringRules, what: string): Check[] {
  const said = rulesIn(
    StringRulesSchema,
    rules,
    ["len", "min_len", "max_len", "min_bytes", "max_bytes", "pattern"],
    what,
  )
  const { len, minLen, maxLen, minBytes, maxBytes, pattern } = rules
  return [
    ...(said.has("len") ? [unless(isString, (text) => characters(text) === len, `must be ${len} characters`)] : []),
    ...(said.has("min_len")
      ? [unless(isString, (text) => characters(text) >= minLen, `must be at least ${minLen} characters`)]
      : []),
    ...(said.has("max_len")
      ? [unless(isString, (text) => characters(text) <= maxLen, `must be at most ${maxLen} characters`)]
      : []),
    ...(said.has("min_bytes")
      ? [unless(isString, (text) => bytesIn(text) >= minBytes, `must be at least ${minBytes} bytes`)]
      : []),
    ...(said.has("max_bytes")
      ? [unless(isString, (text) => bytesIn(text) <= maxBytes, `must be at most ${maxBytes} bytes`)]
      : []),
    ...(said.has("pattern") ? [patternCheck(pattern, what)] : []),
  ]
}

const characters = (text: string): bigint => BigInt(Array.from(text).length)

const utf8 = new TextEncoder()
const bytesIn = (text: string): bigint => BigInt(utf8.encode(text).length)

/**
 * Patterns that RE2 and the platform's expressions read alike: of the whole text, with classes of ASCII, counts, and
 * groups that are not repeated, so that no text takes long.
 */
const plainPattern =
  /^\^(?:[A-Za-z0-9_:/@ -]|\\\.|\[[A-Za-z0-9_.:-]+\](?:\{\d+(?:,\d+)?\}|[?*+])?|\((?!\?)|\)\??|\|)*\$$/

function patternCheck(pattern: string, what: string): Check {
  if (!plainPattern.test(pattern)) throw new UnknownRule(`${what}: pattern ${pattern}`)
  const expression = new RegExp(pattern, "u")
  return unless(isString, (text) => expression.test(text), `does not match regex pattern \`${pattern}\``)
}

function bytesChecks(rules: BytesRules, what: string): Check[] {
  const said = rulesIn(BytesRulesSchema, rules, ["len", "min_len", "max_len"], what)
  const { len, minLen, maxLen } = rules
  return [
    ...(said.has("len") ? [unless(isBytes, ({ length }) => BigInt(length) === len, `must be ${len} bytes`)] : []),
    ...(said.has("min_len")
      ? [unless(isBytes, ({ length }) => BigInt(length) >= minLen, `must be at least ${minLen} bytes`)]
      : []),
    ...(said.has("max_len")
      ? [unless(isBytes, ({ length }) => BigInt(length) <= maxLen, `must be at most ${maxLen} bytes`)]
      : []),
  ]
}

function enumChecks(rules: EnumRules, desc: DescEnum, what: string): Check[] {
  rulesIn(EnumRulesSchema, rules, ["defined_only", "not_in"], what)
  const { definedOnly, notIn } = rules
  const defined = new Set(desc.values.map(({ number }) => number))
  const list = notIn.join(", ")
  return [
    ...(definedOnly
      ? [unless(isEnum, (value) => defined.has(value), "value must be one of the defined enum values")]
      : []),
    ...(notIn.length > 0 ? [unless(isEnum, (value) => !notIn.includes(value), `must not be in list [${list}]`)] : []),
  ]
}

interface Range extends Message {
  readonly greaterThan: { case: "gt" | "gte"; value: number | bigint } | { case: undefined; value?: undefined }
  readonly lessThan: { case: "lt" | "lte"; value: number | bigint } | { case: undefined; value?: undefined }
}

function rangeChecks(desc: DescMessage, rules: Range, what: string): Check[] {
  rulesIn(desc, rules, ["gt", "gte", "lt", "lte"], what)
  const { greaterThan: low, lessThan: high } = rules
  const isAbove = (value: number | bigint) =>
    low.case === undefined || (low.case === "gt" ? value > low.value : value >= low.value)
  const isBelow = (value: number | bigint) =>
    high.case === undefined || (high.case === "lt" ? value < high.value : value <= high.value)
  const above = low.case === undefined ? [] : [`greater than ${low.case === "gte" ? "or equal to " : ""}${low.value}`]
  const below = high.case === undefined ? [] : [`less than ${high.case === "lte" ? "or equal to " : ""}${high.value}`]
  if (low.case !== undefined && high.case !== undefined && high.value < low.value) {
    throw new UnknownRule(`${what}: a range that excludes what is between`)
  }
  const sentence = `must be ${[...above, ...below].join(" and ")}`
  if (sentence === "must be ") return []
  return [unless(isNumber, (value) => isAbove(value) && isBelow(value), sentence)]
}

const sizeIn = /^size\(this\) in \[(\d+(?:, \d+)*)\]$/

/** The expressions that are known: how many bytes there may be. @throws UnknownRule */
export function expressionChecks(rules: FieldRules, what: string): Check[] {
  const at = `${what}: ${FieldRulesSchema.typeName}`
  return rules.cel.map(({ expression, message }) => {
    const sizes = sizeIn.exec(expression)?.[1]?.split(", ").map(Number)
    if (sizes === undefined || message === "") throw new UnknownRule(`${at} says ${expression}`)
    return unless(isBytes, ({ length }) => sizes.includes(length), message)
  })
}
