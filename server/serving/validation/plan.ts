// Compiles the rules of schemas (buf.validate) once, without an expression language. Violations and sentences equal
// protovalidate's (see plan.test.ts). An unknown rule fails at start.
import { type DescField, type DescMessage, type DescOneof, getOption, type Message } from "@bufbuild/protobuf"
import { isReflectList, isReflectMessage, type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect"
import { FeatureSet_FieldPresence as Presence } from "@bufbuild/protobuf/wkt"
import {
  FieldRulesSchema,
  field as fieldOption,
  Ignore,
  MessageRulesSchema,
  message as messageOption,
  OneofRulesSchema,
  oneof as oneofOption,
  type RepeatedRules,
  RepeatedRulesSchema,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js"
import type { Check } from "./check.ts"
import { rulesIn, UnknownRule } from "./known.ts"
import { messageChecks } from "./ranges.ts"
import { expressionChecks, valueChecks } from "./values.ts"

export interface Violation {
  /** The path of the field, by proto names. */
  readonly field: string
  readonly description: string
}

/** The violations of a message; none for a valid one. */
type ViolationsOf = (message: Message) => Violation[]

type Report = (field: string, description: string) => void
type Plan = (message: ReflectMessage, at: string, report: Report) => void

/** The plans of this process. Only whole ones: a type of which an unknown rule was found has none. */
const compiled = new WeakMap<DescMessage, Plan>()

/** @throws UnknownRule */
export function planOf(desc: DescMessage): ViolationsOf {
  const compiling = new Map<DescMessage, Plan>()
  const plan = messagePlan(desc, compiling)
  for (const [type, whole] of compiling) compiled.set(type, whole)
  return (message) => {
    const found: Violation[] = []
    plan(reflect(desc, message), "", (field, description) => found.push({ field, description }))
    return found
  }
}

function messagePlan(desc: DescMessage, known: Map<DescMessage, Plan>): Plan {
  const found = compiled.get(desc) ?? known.get(desc)
  if (found !== undefined) return found
  rulesIn(MessageRulesSchema, getOption(desc, messageOption), [], desc.typeName)
  let plans: readonly Plan[] = []
  const plan: Plan = (message, at, report) => {
    for (const each of plans) each(message, at, report)
  }
  // Registered before its fields, because a type may contain itself.
  known.set(desc, plan)
  plans = [...desc.fields.flatMap((field) => fieldPlans(field, known)), ...desc.oneofs.flatMap(oneofPlans)]
  return plan
}

function oneofPlans(oneof: DescOneof): Plan[] {
  const rules = getOption(oneof, oneofOption)
  rulesIn(OneofRulesSchema, rules, ["required"], `${oneof.parent.typeName}.${oneof.name}`)
  if (!rules.required) return []
  return [
    (message, at, report) => {
      if (oneof.fields.some((field) => message.isSet(field))) return
      report(`${at}${oneof.name}`, "exactly one field is required in oneof")
    },
  ]
}

const typed = ["string", "bytes", "enum", "int32", "int64", "uint32", "uint64", "duration", "timestamp"]

function fieldPlans(field: DescField, known: Map<DescMessage, Plan>): Plan[] {
  const what = `${field.parent.typeName}.${field.name}`
  const rules = getOption(field, fieldOption)
  rulesIn(FieldRulesSchema, rules, ["required", "ignore", "cel", "repeated", ...typed], what)
  if (rules.ignore === Ignore.ALWAYS) return []
  const expressions = expressionChecks(rules, what)
  const pass = passOf(field, known, what)
  const isOnlyWhenSet =
    field.fieldKind === "message" || field.presence !== Presence.IMPLICIT || rules.ignore === Ignore.IF_ZERO_VALUE
  const skipsUnset = field.fieldKind === "list" ? rules.ignore === Ignore.IF_ZERO_VALUE : isOnlyWhenSet
  return [
    (message, at, report) => {
      const isSet = message.isSet(field)
      const here = `${at}${field.name}`
      if (rules.required && !isSet) return report(here, "value is required")
      if (!isSet && skipsUnset) return
      const value = message.get(field)
      for (const sentence of expressions.flatMap((check) => check(value))) report(here, sentence)
      pass(value, here, report)
    },
  ]
}

type Pass = (value: unknown, at: string, report: Report) => void

/** The checks of a field's value. */
function passOf(field: DescField, known: Map<DescMessage, Plan>, what: string): Pass {
  const rules = getOption(field, fieldOption)
  switch (field.fieldKind) {
    case "scalar":
      return checksPass(valueChecks(rules, undefined, what))
    case "enum":
      return checksPass(valueChecks(rules, field.enum, what))
    case "message": {
      const whole = checksPass(messageChecks(rules, what))
      const plan = messagePlan(field.message, known)
      return (value, at, report) => {
        whole(value, at, report)
        if (isReflectMessage(value)) plan(value, `${at}.`, report)
      }
    }
    case "list":
      return listPass(field, known, what)
    case "map":
      throw new UnknownRule(`${what}: a map`)
  }
}

const checksPass =
  (checks: readonly Check[]): Pass =>
  (value, at, report) => {
    for (const check of checks) for (const sentence of check(value)) report(at, sentence)
  }

function listPass(field: DescField & { fieldKind: "list" }, known: Map<DescMessage, Plan>, what: string): Pass {
  const { type } = getOption(field, fieldOption)
  if (type.case !== undefined && type.case !== "repeated") throw new UnknownRule(`${what}: rules of ${type.case}`)
  const whole = type.value === undefined ? [] : listChecks(type.value, field, what)
  const item = itemPass(type.value, field, known, what)
  return (value, at, report) => {
    if (!isReflectList(value)) throw new TypeError(`${what} is not a list`)
    const items = Array.from(value)
    for (const sentence of whole.flatMap((check) => check(items))) report(at, sentence)
    for (const [index, each] of items.entries()) item(each, `${at}[${index}]`, report)
  }
}

function itemPass(
  rules: RepeatedRules | undefined,
  field: DescField & { fieldKind: "list" },
  known: Map<DescMessage, Plan>,
  what: string,
): Pass {
  const items = rules?.items
  if (items !== undefined) rulesIn(FieldRulesSchema, items, typed, `${what}[]`)
  if (field.listKind === "message") {
    if (items !== undefined) throw new UnknownRule(`${what}[]: rules of messages`)
    const plan = messagePlan(field.message, known)
    return (value, at, report) => {
      if (isReflectMessage(value)) plan(value, `${at}.`, report)
    }
  }
  return checksPass(items === undefined ? [] : valueChecks(items, field.enum, `${what}[]`))
}

function listChecks(
  rules: RepeatedRules,
  field: DescField & { fieldKind: "list" },
  what: string,
): ((items: readonly unknown[]) => string[])[] {
  const present = rulesIn(RepeatedRulesSchema, rules, ["min_items", "max_items", "unique", "items"], what)
  const { minItems, maxItems, unique } = rules
  if (unique && field.listKind === "message") throw new UnknownRule(`${what}: unique messages`)
  const size = (items: readonly unknown[]) => BigInt(items.length)
  return [
    (items) =>
      present.has("min_items") && size(items) < minItems ? [`must contain at least ${minItems} item(s)`] : [],
    (items) =>
      present.has("max_items") && size(items) > maxItems ? [`must contain no more than ${maxItems} item(s)`] : [],
    (items) =>
      unique && new Set(items.map(comparable)).size < items.length ? ["repeated value must contain unique items"] : [],
  ]
}

/** Equal for equal bytes. */
const comparable = (value: unknown): unknown => (value instanceof Uint8Array ? value.join() : value)
