import { MessagingError } from "../errors.ts"

/** Far above the number of pages of any list. */
const maxPages = 500
const maxItems = 100_000

export interface Page<Item> {
  readonly items: readonly Item[]
  /** Empty on the last page. */
  readonly nextPageToken: string
}

/** Reads all pages of a list. @throws MessagingError ANSWER_REFUSED for an endless list. */
export async function allPages<Item>(fetch: (pageToken: string) => Promise<Page<Item>>): Promise<Item[]> {
  const all: Item[] = []
  for (let pages = 0, pageToken = ""; pages < maxPages; pages++) {
    const { items, nextPageToken } = await fetch(pageToken)
    if (all.length + items.length > maxItems) break
    for (const item of items) all.push(item)
    if (nextPageToken === "") return all
    pageToken = nextPageToken
  }
  throw new MessagingError("ANSWER_REFUSED", "the service answers a list without an end")
}
