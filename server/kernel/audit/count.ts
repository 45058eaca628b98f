import { Refused } from "../errors.ts"
import type { AuditEvent } from "./event.ts"
import type { AuditFilter } from "./filter.ts"

/**
 * The events that one count reads, also those that its filter leaves out. More take longer than a page may wait, and the
 * caller continues before them.
 */
export const mostEventsRead = 250_000

/** The largest number of buckets of one count. */
export const mostBuckets = 1_000

/** Buckets of equal width in a time range; the last may be shorter. Milliseconds since the Unix epoch. */
export interface Buckets {
  /** Inclusive; the start of the first bucket. */
  readonly fromMs: number
  /** Exclusive. */
  readonly untilMs: number
  readonly widthMs: number
}

/**
 * The buckets that a request names.
 *
 * @param bucketSeconds Width of a bucket; 0 for one bucket.
 * @throws Refused INVALID_FIELD for an empty time range, and for more than `mostBuckets`.
 */
export function parseBuckets(fromMs: number, untilMs: number, bucketSeconds: number): Buckets {
  const rangeMs = untilMs - fromMs
  if (rangeMs <= 0) throw invalid("end_time", "must be after start_time")
  const widthMs = bucketSeconds === 0 ? rangeMs : bucketSeconds * 1_000
  const count = Math.ceil(rangeMs / widthMs)
  if (count > mostBuckets) {
    throw invalid("bucket_seconds", `the time range has ${count} buckets, and at most ${mostBuckets} are allowed`)
  }
  return { fromMs, untilMs, widthMs }
}

const invalid = (field: string, rule: string): Refused =>
  new Refused("INVALID_FIELD", { message: `${field}: ${rule}`, metadata: { field } })

/** The properties that split the counts of a bucket. */
export type CountGroup = "KIND" | "OUTCOME" | "REASON"

export interface CountQuery extends Pick<AuditFilter, "appId" | "tenantId" | "contextId" | "kinds" | "outcome"> {
  readonly buckets: Buckets
  readonly groupBy: readonly CountGroup[]
  /** See `mostEventsRead`. */
  readonly most: number
}

/** The events of a bucket that are equal in the properties of `groupBy`; other properties are null. */
export interface EventCount {
  /** Start of the bucket. */
  readonly startMs: number
  readonly kind: AuditEvent["kind"] | null
  readonly outcome: AuditEvent["outcome"] | null
  readonly reason: AuditEvent["reason"]
  readonly count: number
}

export interface EventCounts {
  /** Counts above zero, in order of time. */
  readonly counts: readonly EventCount[]
  /** All events from this time on are counted, and none before it. */
  readonly countedFromMs: number
}
