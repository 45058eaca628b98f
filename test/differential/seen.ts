// What a client has seen, with everything that may differ between two servers named by when it was first seen: ids,
// keys, signatures, ciphertext. Times stay as seconds from now; whatever else is said stays as it was said.
import type { DescMessage } from "@bufbuild/protobuf"
import { Code, type ConnectError } from "@connectrpc/connect"
import { decode } from "@signet/canonical/canonical"
import { parseSigned } from "@signet/canonical/signed"
import { DenialSchema } from "@signet/proto/authz/v1/denial"
import { ClaimTicketBodyV1Schema } from "@signet/proto/credential/v1/claim_ticket"
import { CommitReceiptBodyV1Schema } from "@signet/proto/credential/v1/commit_receipt"
import { DeviceCredentialBodyV1Schema } from "@signet/proto/credential/v1/device_credential"
import { DeviceListBodyV1Schema } from "@signet/proto/credential/v1/device_list"
import { MembershipProofBodyV1Schema } from "@signet/proto/credential/v1/policy_proof"
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "@signet/proto/google/rpc/error_details"
import {
  CommitConflictSchema,
  CommitRequiredSchema,
  LimitExceededSchema,
  NoKeyPackageSchema,
  StaleEpochSchema,
} from "@signet/proto/messaging/v1/conflict"

/** What is compared: JSON, with times as `{ "~s": seconds from now }`. */
export type Seen = null | boolean | number | string | readonly Seen[] | { readonly [name: string]: Seen }

export interface Seer {
  /** A message, or whatever is in one. */
  value(value: unknown): Seen
  error(error: ConnectError): Seen
  /** Does it without giving names. */
  looked<T>(act: () => T): T
  /** Gives all of them one name: which of them it is, is drawn by chance. */
  nameAll(kind: string, all: readonly Uint8Array[]): void
}

/** Bytes that the service has signed, by the field that they come in: what is in them is compared, too. */
const signed: Readonly<Record<string, DescMessage>> = {
  credential: DeviceCredentialBodyV1Schema,
  deviceList: DeviceListBodyV1Schema,
  deviceLists: DeviceListBodyV1Schema,
  receipt: CommitReceiptBodyV1Schema,
  proof: MembershipProofBodyV1Schema,
  ticket: ClaimTicketBodyV1Schema,
}

/** Sets, which the service sorts by ids and hashes. */
const unordered: ReadonlySet<string> = new Set([
  "added",
  "deviceIds",
  "deviceIdsWithout",
  "entries",
  "keyPackageRefs",
  "keyPackages",
  "packages",
  "removed",
  "removedDeviceIds",
  "userIds",
])

const details = [
  ErrorInfoSchema,
  DenialSchema,
  BadRequestSchema,
  RetryInfoSchema,
  CommitConflictSchema,
  StaleEpochSchema,
  CommitRequiredSchema,
  LimitExceededSchema,
  NoKeyPackageSchema,
] as const

/** Headers of a refusal that clients act on. */
const told = ["retry-after", "www-authenticate"]

/** Whatever stands for itself alone: an id, a hash or a key in hexadecimal, a request's id. */
const names = /\b(?:[a-z]{3}_[0-7][0-9a-hjkmnp-tv-z]{25}|[0-9a-f]{32,}|[0-9a-f]{8}-[0-9a-f-]{27})\b/g

export function createSeer(): Seer {
  const known = new Map<string, string>()
  /** Looks without giving names. */
  let isLook = false
  const nameOf = (kind: string, content: string): string => {
    const found = known.get(content)
    if (found !== undefined) return found
    if (isLook) return `${kind}?`
    const name = `${kind}#${known.size}`
    known.set(content, name)
    return name
  }
  const looked = <T>(act: () => T): T => {
    const before = isLook
    isLook = true
    try {
      return act()
    } finally {
      isLook = before
    }
  }
  /** The elements in an order of what is known of them: by what they are sorted, if at all, is drawn by chance. */
  const inNamedOrder = (field: string, all: readonly unknown[]): readonly unknown[] => {
    if (!unordered.has(field)) return all
    const looks = looked(() => all.map((one) => ({ one, look: JSON.stringify(any(field, one)) })))
    return looks.toSorted((a, b) => (a.look < b.look ? -1 : Number(a.look > b.look))).map(({ one }) => one)
  }
  const text = (value: string) => value.replace(names, (name) => nameOf(/^[a-z]{3}_/.exec(name)?.[0] ?? "hex", name))

  function bytes(field: string, value: Uint8Array): Seen {
    if (value.length === 0) return ""
    const hex = Buffer.from(value).toString("hex")
    const name = `${nameOf("bytes", hex)}(${value.length})`
    const schema = signed[field]
    if (schema === undefined) return name
    return { name, body: fields(decode(schema, parseSigned(schema, value).body)) }
  }

  function number(value: number | bigint): Seen {
    const plain = Number(value)
    const nowMs = Date.now()
    if (plain > 1.5e9 && plain < 5e9) return { "~s": plain - nowMs / 1_000 }
    return plain > 1.5e12 && plain < 5e12 ? { "~s": (plain - nowMs) / 1_000 } : plain
  }

  function any(field: string, value: unknown): Seen {
    switch (typeof value) {
      case "string":
        if (/pageToken$/i.test(field) || field === "url") return value === "" ? "" : "opaque"
        return text(value)
      case "number":
      case "bigint":
        // Of the auth service, which counts what its operator did, too.
        if (field === "policyVersion") return Number(value) > 0 ? "some" : 0
        return number(value)
      case "boolean":
        return value
      case "object":
        if (value === null) return null
        if (value instanceof Uint8Array) return bytes(field, value)
        if (Array.isArray(value)) return inNamedOrder(field, value).map((one) => any(field, one))
        return fields(value)
      default:
        return null
    }
  }

  const fields = (message: object): Seen => {
    const entries = Object.entries(message).filter(([name, value]) => !name.startsWith("$") && value !== undefined)
    if ("$typeName" in message && message.$typeName === "google.protobuf.Timestamp" && "seconds" in message) {
      return number(BigInt(String(message.seconds)))
    }
    if ("$typeName" in message && message.$typeName === "google.protobuf.Duration" && "seconds" in message) {
      // Below two seconds it is drawn by chance, so that not everybody comes back at once.
      return Number(message.seconds) < 2 ? "soon" : number(Number(message.seconds))
    }
    return Object.fromEntries(entries.map(([name, value]) => [name, any(name, value)]))
  }

  let named = 0
  return {
    looked,
    nameAll(kind, all) {
      const name = `${kind}#${named++}`
      for (const one of all) known.set(Buffer.from(one).toString("hex"), name)
    },
    value: (value) => any("", value),
    error(error) {
      return {
        code: Code[error.code] ?? "",
        message: text(error.rawMessage),
        headers: Object.fromEntries(told.map((name) => [name, text(error.metadata.get(name) ?? "")])),
        details: details.flatMap((schema) => error.findDetails(schema).map((one) => ({ [schema.name]: fields(one) }))),
        count: error.details.length,
      }
    },
  }
}

/** Seconds by which two servers' times may differ: they are asked one after the other, on a busy machine. */
const toleranceSeconds = 45

/** The first place where two differ, as a path and both; undefined when there is none. */
export function difference(left: Seen, right: Seen, at = ""): string | undefined {
  if (left === null || right === null || typeof left !== "object" || typeof right !== "object") {
    return Object.is(left, right) ? undefined : `${at || "it"}: ${JSON.stringify(left)} | ${JSON.stringify(right)}`
  }
  const [one, other] = [timeIn(left), timeIn(right)]
  if (one !== undefined && other !== undefined) {
    return Math.abs(one - other) <= toleranceSeconds ? undefined : `${at}: in ${one} s | in ${other} s`
  }
  const [mine, yours] = [new Map(Object.entries(left)), new Map(Object.entries(right))]
  for (const name of new Set([...mine.keys(), ...yours.keys()])) {
    const path = at === "" ? name : `${at}.${name}`
    const [a, b] = [mine.get(name), yours.get(name)]
    if (a === undefined || b === undefined) return `${path}: ${JSON.stringify(a)} | ${JSON.stringify(b)}`
    const found = difference(a, b, path)
    if (found !== undefined) return found
  }
  return undefined
}

const timeIn = (seen: object): number | undefined =>
  "~s" in seen && typeof seen["~s"] === "number" ? seen["~s"] : undefined

/** For what has no order: the same whatever came first. */
export const sorted = (all: readonly Seen[]): readonly Seen[] =>
  all.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
