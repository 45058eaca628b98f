// Options that limit or name several values, and the pages of a list (AIP-158).
import { InvalidArgumentError, Option } from "commander"

export const limitOption = (): Option =>
  new Option("-L, --limit <n>", "Maximum number of results.").default(50).argParser((text) => parseCount(text, 10_000))

/** @throws InvalidArgumentError */
export function parseCount(text: string, most: number): number {
  if (/^[1-9]\d{0,8}$/.test(text) && Number(text) <= most) return Number(text)
  throw new InvalidArgumentError(`Use an integer from 1 to ${most}.`)
}

/** Parses an option that may be repeated and may have comma-separated values: adds them to the earlier values. */
export const collect = (text: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  ...text.split(",").map((part) => part.trim()),
]

const largestPage = 200

/**
 * Returns the first results of a list, at most `limit`.
 *
 * @param next Requests a page.
 */
export async function collectPages<T>(
  limit: number,
  next: (page: { pageSize: number; pageToken: string }) => Promise<{ items: readonly T[]; nextPageToken: string }>,
): Promise<readonly T[]> {
  const all: T[] = []
  let pageToken = ""
  do {
    const page = await next({ pageSize: Math.min(limit - all.length, largestPage), pageToken })
    all.push(...page.items)
    pageToken = page.nextPageToken
  } while (pageToken !== "" && all.length < limit)
  return all
}
