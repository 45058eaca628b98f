// Pages of lists in descending order of creation (AIP-158).
import { Refused } from "@signet/kernel/errors"
import { type IdKinds, parseId } from "@signet/kernel/ids"
import type { Secrets } from "@signet/kernel/keys/ports"
import { buildPageToken, parsePageToken } from "./page-token.ts"

const defaultPageSize = 50

/** The largest count of an answer: counting a million records takes longer than a call may. */
export const mostCounted = 1_000

interface Asked {
  pageSize: number
  pageToken: string
}

interface Cursor<K extends keyof IdKinds> {
  createdAtMs: number
  id: IdKinds[K]
}

/**
 * The page to request from the store: one record more than the answer has, which shows whether a next page exists.
 *
 * @param filter Everything besides the cursor that determines the list.
 * @throws Refused INVALID_FIELD
 */
export function pageAsked<K extends keyof IdKinds>(
  secrets: Secrets,
  kind: K,
  filter: readonly string[],
  asked: Asked,
): { size: number; before: Cursor<K> | null } {
  const text = parsePageToken(secrets, filter, asked.pageToken)
  return { size: sizeOf(asked) + 1, before: text === null ? null : cursorOf(kind, text) }
}

/** The records of the answer, and the token of the next page: empty on the last page. */
export function pageFound<T extends { id: string; createdAtMs: number }>(
  secrets: Secrets,
  filter: readonly string[],
  asked: Asked,
  found: readonly T[],
): { page: readonly T[]; nextPageToken: string } {
  const page = found.slice(0, sizeOf(asked))
  const last = page.at(-1)
  if (last === undefined || found.length === page.length) return { page, nextPageToken: "" }
  return { page, nextPageToken: pageTokenAfter(secrets, filter, last) }
}

/** A list of the one record that the caller reaches, if the request wants it. @param ids Empty for all. */
export const wanted = <T extends { id: string }>(ids: readonly string[], own: T): readonly T[] =>
  ids.length === 0 || ids.includes(own.id) ? [own] : []

/** The token of the page that follows this record. */
export function pageTokenAfter(
  secrets: Secrets,
  filter: readonly string[],
  last: { readonly id: string; readonly createdAtMs: number },
): string {
  return buildPageToken(secrets, filter, `${last.createdAtMs} ${last.id}`)
}

const sizeOf = ({ pageSize }: Asked): number => pageSize || defaultPageSize

function cursorOf<K extends keyof IdKinds>(kind: K, text: string): Cursor<K> {
  const [createdAtMs, id] = text.split(" ")
  const parsed = parseId(kind, id ?? "")
  if (parsed === undefined || !Number.isSafeInteger(Number(createdAtMs))) throw new Refused("INVALID_FIELD")
  return { createdAtMs: Number(createdAtMs), id: parsed }
}
