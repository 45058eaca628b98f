// The format of a folder store's file: the rows after a range of transactions, and a checksum.
//
//   magic "SGFS", format 1 | SHA-256 of the rest, 32 bytes | length of the table, 4 bytes | table, JSON | values
import { createHash, timingSafeEqual } from "node:crypto"
import { MessagingError, type Space } from "@signet/client/messaging"

/** The range of transactions, both ends included, counted from 1. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** A row after the span; undefined for a deleted one. */
export interface LeftRow {
  readonly space: Space
  readonly table: string
  readonly key: string
  readonly value: Uint8Array | undefined
}

/** The state after a span, independent of the state before: applying it twice has the same result. */
export interface Left {
  /** The written spaces, and their generation after the span. */
  readonly generations: ReadonlyMap<Space, bigint>
  /** One per name. */
  readonly rows: readonly LeftRow[]
}

const magic = Buffer.from("SGFS")
const format = 1
const hashAt = magic.length + 1
const bodyAt = hashAt + 32
const digits = 12
const extension = "rows"

export const nameOf = ({ from, to }: Span): string => `${padded(from)}-${padded(to)}.${extension}`
const padded = (number: number) => String(number).padStart(digits, "0")

/** @returns Undefined for a name that no file of a store has. */
export function spanOf(name: string): Span | undefined {
  const [, from, to] = /^(\d{12})-(\d{12})\.rows$/.exec(name) ?? []
  const span = { from: Number(from), to: Number(to) }
  return span.from >= 1 && span.from <= span.to ? span : undefined
}

export function encodeFile({ from, to }: Span, { generations, rows }: Left): Uint8Array {
  const table = {
    span: [from, to],
    generations: [...generations].map(([space, generation]) => [space, String(generation)]),
    // A length, or -1 for a deleted row.
    rows: rows.map(({ space, table, key, value }) => [space, table, key, value?.length ?? -1]),
  }
  const json = Buffer.from(JSON.stringify(table))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(json.length)
  const body = Buffer.concat([length, json, ...rows.flatMap(({ value }) => (value === undefined ? [] : [value]))])
  return Buffer.concat([magic, Uint8Array.of(format), checksumOf(body), body])
}

/**
 * @param span From the file's name.
 * @throws MessagingError STATE_NEWER_VERSION; STATE_TAMPERED for a file that is not as it was written.
 */
export function decodeFile(span: Span, bytes: Uint8Array): Left {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (file.length < bodyAt + 4 || !file.subarray(0, magic.length).equals(magic)) throw damaged(span)
  const version = file.readUInt8(magic.length)
  if (version > format) throw new MessagingError("STATE_NEWER_VERSION", "a later version wrote this store")
  const body = file.subarray(bodyAt)
  if (version !== format || !timingSafeEqual(checksumOf(body), file.subarray(hashAt, bodyAt))) throw damaged(span)
  const valuesAt = 4 + body.readUInt32BE(0)
  const table: unknown = JSON.parse(body.toString("utf8", 4, valuesAt))
  if (pair(member(table, "span")).join() !== [span.from, span.to].join()) throw damaged(span)
  const generations = new Map(
    list(member(table, "generations")).map((one) => {
      const [space, generation] = pair(one)
      return [String(space), BigInt(String(generation))]
    }),
  )
  let at = valuesAt
  const rows = list(member(table, "rows")).map((one): LeftRow => {
    const [space, name, key, length] = list(one)
    const place = { space: String(space), table: String(name), key: String(key) }
    if (length === -1) return { ...place, value: undefined }
    at += Number(length)
    // A copy, because a view would keep the whole file in memory.
    return { ...place, value: Uint8Array.from(body.subarray(at - Number(length), at)) }
  })
  if (at !== body.length) throw damaged(span)
  return { generations, rows }
}

const checksumOf = (body: Uint8Array): Buffer => createHash("sha256").update(body).digest()

const damaged = (span: Span) => new MessagingError("STATE_TAMPERED", `${nameOf(span)} is damaged: nothing was changed`)

const member = (value: unknown, name: string): unknown => Object(value)[name]
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const pair = (value: unknown): unknown[] => list(value).slice(0, 2)

/** The state after a span of several files: for each name and space, the last file's. */
export function merged(all: readonly Left[], keepsRemovals: boolean): Left {
  const generations = new Map<Space, bigint>()
  const rows = new Map<string, LeftRow>()
  for (const left of all) {
    for (const [space, generation] of left.generations) generations.set(space, generation)
    for (const row of left.rows) rows.set(JSON.stringify([row.space, row.table, row.key]), row)
  }
  return { generations, rows: [...rows.values()].filter(({ value }) => keepsRemovals || value !== undefined) }
}

/**
 * The files from a transaction to the newest one. Each starts at the latest directly after the previous one.
 *
 * A file within another one is omitted: it was merged, and is deleted or will be.
 *
 * @param reached 0 for none.
 */
export function chainAfter(reached: number, spans: readonly Span[]): Span[] {
  const chain: Span[] = []
  for (let end = reached; ; ) {
    const next = spans
      .filter(({ from, to }) => from <= end + 1 && to > end)
      .reduce<Span | undefined>((best, one) => (best === undefined || isBetter(one, best) ? one : best), undefined)
    if (next === undefined) return chain
    chain.push(next)
    end = next.to
  }
}

/** Of two files with the same end, the longer one: a writer that came too late may have written the other. */
const isBetter = (one: Span, best: Span): boolean => one.to > best.to || (one.to === best.to && one.from < best.from)

export const isWithin = (inner: Span, outer: Span): boolean =>
  inner.from >= outer.from && inner.to <= outer.to && (inner.from !== outer.from || inner.to !== outer.to)
