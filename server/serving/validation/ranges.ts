// Rules that compare numbers, durations and timestamps.
import { type DescMessage, isMessage, type Message } from "@bufbuild/protobuf"
import { isReflectMessage } from "@bufbuild/protobuf/reflect"
import { type Duration, DurationSchema, type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt"
import {
  DurationRulesSchema,
  type FieldRules,
  TimestampRulesSchema,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js"
import { type Check, unless } from "./check.ts"
import { rulesIn, UnknownRule } from "./known.ts"

interface Bound {
  readonly case: string | undefined
  readonly value?: unknown
}

interface Range extends Message {
  /** `gt` or `gte`. */
  readonly greaterThan: Bound
  /** `lt` or `lte`. */
  readonly lessThan: Bound
}

/** The order of one type's values, and their form in sentences. */
interface Ordered<T> {
  readonly is: (value: unknown) => value is T
  /** Negative, zero or positive. */
  readonly compare: (a: T, b: T) => number
  readonly shown: (value: T, what: string) => string
}

const known = ["gt", "gte", "lt", "lte"]

/** @throws UnknownRule */
function rangeChecks<T>(desc: DescMessage, rules: Range, type: Ordered<T>, what: string): Check[] {
  rulesIn(desc, rules, known, what)
  const { is, compare, shown } = type
  const low = is(rules.greaterThan.value) ? rules.greaterThan.value : undefined
  const high = is(rules.lessThan.value) ? rules.lessThan.value : undefined
  const takesLow = rules.greaterThan.case === "gte"
  const takesHigh = rules.lessThan.case === "lte"
  if (low !== undefined && high !== undefined && compare(high, low) < 0) {
    throw new UnknownRule(`${what}: a range that excludes what is between`)
  }
  const sentences = [
    ...(low === undefined ? [] : [`greater than ${takesLow ? "or equal to " : ""}${shown(low, what)}`]),
    ...(high === undefined ? [] : [`less than ${takesHigh ? "or equal to " : ""}${shown(high, what)}`]),
  ]
  if (sentences.length === 0) return []
  const isAbove = (value: T) => low === undefined || compare(value, low) > (takesLow ? -1 : 0)
  const isBelow = (value: T) => high === undefined || compare(value, high) < (takesHigh ? 1 : 0)
  return [unless(is, (value) => isAbove(value) && isBelow(value), `must be ${sentences.join(" and ")}`)]
}

const numbers: Ordered<number | bigint> = {
  is: (value) => typeof value === "number" || typeof value === "bigint",
  compare: (a, b) => (a < b ? -1 : a > b ? 1 : 0),
  shown: String,
}

/** The checks of an integer. @throws UnknownRule */
export const numberChecks = (desc: DescMessage, rules: Range, what: string): Check[] =>
  rangeChecks(desc, rules, numbers, what)

type Time = Pick<Duration | Timestamp, "seconds" | "nanos">

/** As protovalidate compares: nanoseconds decide only between equal seconds, even when they exceed a second. */
const compareTimes = (a: Time, b: Time): number =>
  a.seconds === b.seconds ? a.nanos - b.nanos : a.seconds < b.seconds ? -1 : 1

const wholeSeconds = ({ seconds, nanos }: Time, what: string): bigint => {
  if (nanos !== 0) throw new UnknownRule(`${what}: a part of a second`)
  return seconds
}

const durations: Ordered<Duration> = {
  is: (value) => isMessage(value, DurationSchema),
  compare: compareTimes,
  shown: (value, what) => `${wholeSeconds(value, what)}s`,
}

const timestamps: Ordered<Timestamp> = {
  is: (value) => isMessage(value, TimestampSchema),
  compare: compareTimes,
  shown: (value, what) => new Date(Number(wholeSeconds(value, what)) * 1_000).toISOString().replace(/\.000Z$/, "Z"),
}

/** The checks of a duration or timestamp. @throws UnknownRule for any other rule. */
export function messageChecks({ type }: FieldRules, what: string): Check[] {
  const checks =
    type.case === "duration"
      ? rangeChecks(DurationRulesSchema, type.value, durations, what)
      : type.case === "timestamp"
        ? rangeChecks(TimestampRulesSchema, type.value, timestamps, what)
        : undefined
  if (checks !== undefined)
    return checks.map((check) => (value) => check(isReflectMessage(value) ? value.message : value))
  if (type.case !== undefined) throw new UnknownRule(`${what}: rules of ${type.case}`)
  return []
}
