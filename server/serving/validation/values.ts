// Rules of single values, with the sentences and order of protovalidate.
import type { DescEnum } from "@bufbuild/protobuf"
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
import { type Check, unless } from "./check.ts"
import { rulesIn, UnknownRule } from "./known.ts"
import { numberChecks } from "./ranges.ts"
import { isUri } from "./uri.ts"

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
      return numberChecks(Int32RulesSchema, type.value, what)
    case "int64":
      return numberChecks(Int64RulesSchema, type.value, what)
    case "uint32":
      return numberChecks(UInt32RulesSchema, type.value, what)
    case "uint64":
      return numberChecks(UInt64RulesSchema, type.value, what)
    default:
      throw new UnknownRule(`${what}: rules of ${type.case}`)
  }
}

const isString = (value: unknown): value is string => typeof value === "string"
const isBytes = (value: unknown): value is Uint8Array => value instanceof Uint8Array
const isEnum = (value: unknown): value is number => typeof value === "number"

function stringChecks(rules: StringRules, what: string): Check[] {
  const present = rulesIn(
    StringRulesSchema,
    rules,
    ["len", "min_len", "max_len", "min_bytes", "max_bytes", "pattern", "uri"],
    what,
  )
  const { len, minLen, maxLen, minBytes, maxBytes, pattern } = rules
  return [
    ...(present.has("len") ? [unless(isString, (text) => characters(text) === len, `must be ${len} characters`)] : []),
    ...(present.has("min_len")
      ? [unless(isString, (text) => characters(text) >= minLen, `must be at least ${minLen} characters`)]
      : []),
    ...(present.has("max_len")
      ? [unless(isString, (text) => characters(text) <= maxLen, `must be at most ${maxLen} characters`)]
      : []),
    ...(present.has("min_bytes")
      ? [unless(isString, (text) => bytesIn(text) >= minBytes, `must be at least ${minBytes} bytes`)]
      : []),
    ...(present.has("max_bytes")
      ? [unless(isString, (text) => bytesIn(text) <= maxBytes, `must be at most ${maxBytes} bytes`)]
      : []),
    ...(present.has("pattern") ? [patternCheck(pattern, what)] : []),
    ...(rules.wellKnown.case === "uri" && rules.wellKnown.value ? [uriCheck] : []),
  ]
}

const characters = (text: string): bigint => BigInt(Array.from(text).length)

const utf8 = new TextEncoder()
const bytesIn = (text: string): bigint => BigInt(utf8.encode(text).length)

const uriCheck: Check = (value) =>
  value === "" ? ["value is empty, which is not a valid URI"] : unless(isString, isUri, "must be a valid URI")(value)

// A character of a class: printable ASCII without space, "^" and "&"; brackets and backslashes only escaped.
const member = String.raw`(?:[!#%'-Z_a-~]|\\[\[\]\\.])`
const classes = String.raw`\[${member}+\](?:\{\d+(?:,\d+)?\}|[?*+])?`
// Repeated groups start with a dot, and their classes have none, so a text matches in one way only.
const dotless = String.raw`\[[A-Za-z0-9_-]+\](?:\{\d+(?:,\d+)?\}|[?*+])?`
const repeated = String.raw`\(\\\.(?:${dotless})+\)\{\d+,\d+\}`
/**
 * Patterns with the same meaning in RE2 and in the platform: anchored, with ASCII classes and counts. They match in
 * linear time.
 */
const plainPattern = new RegExp(
  String.raw`^\^(?:[A-Za-z0-9_:/@ -]\??|\\\.|${classes}|${repeated}|\((?!\?)|\)\??|\|)*\$$`,
)

function patternCheck(pattern: string, what: string): Check {
  if (!plainPattern.test(pattern)) throw new UnknownRule(`${what}: pattern ${pattern}`)
  const expression = new RegExp(pattern, "u")
  return unless(isString, (text) => expression.test(text), `does not match regex pattern \`${pattern}\``)
}

function bytesChecks(rules: BytesRules, what: string): Check[] {
  const present = rulesIn(BytesRulesSchema, rules, ["len", "min_len", "max_len"], what)
  const { len, minLen, maxLen } = rules
  return [
    ...(present.has("len") ? [unless(isBytes, ({ length }) => BigInt(length) === len, `must be ${len} bytes`)] : []),
    ...(present.has("min_len")
      ? [unless(isBytes, ({ length }) => BigInt(length) >= minLen, `must be at least ${minLen} bytes`)]
      : []),
    ...(present.has("max_len")
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

const sizeIn = /^size\(this\) in \[(\d+(?:, \d+)*)\]$/

/** The supported expressions: the permitted byte lengths. @throws UnknownRule */
export function expressionChecks(rules: FieldRules, what: string): Check[] {
  const at = `${what}: ${FieldRulesSchema.typeName}`
  return rules.cel.map(({ expression, message }) => {
    const sizes = sizeIn.exec(expression)?.[1]?.split(", ").map(Number)
    if (sizes === undefined || message === "") throw new UnknownRule(`${at} says ${expression}`)
    return unless(isBytes, ({ length }) => sizes.includes(length), message)
  })
}
