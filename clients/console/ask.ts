// Reads of the service, cached by what they ask. A change invalidates what it may have changed.
import type { Listed } from "@signet/react/core"
import { type UseQueryResult, useInfiniteQuery, useQuery } from "@tanstack/react-query"
import { queries } from "./queries.ts"

export function useAsk<Data>(
  key: readonly unknown[],
  ask: (signal: AbortSignal) => Promise<Data>,
): UseQueryResult<Data> {
  return useQuery({ queryKey: key, queryFn: ({ signal }) => ask(signal) })
}

export interface Page<Item> {
  readonly items: readonly Item[]
  readonly nextPageToken: string
}

/** Pages of a list in the browser: with more, every change draws all of their rows, and reads all of these pages again. */
const mostPages = 10

/** A list that the service pages. */
export function useList<Item>(
  key: readonly unknown[],
  ask: (pageToken: string, signal: AbortSignal) => Promise<Page<Item>>,
): Listed<Item> {
  const list = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => ask(pageParam, signal),
    initialPageParam: "",
    getNextPageParam: ({ nextPageToken }: Page<Item>) => nextPageToken || undefined,
    maxPages: mostPages,
  })
  return {
    items: list.data?.pages.flatMap(({ items }) => items) ?? [],
    error: list.error ?? undefined,
    isPending: list.isFetching,
    hasMore: list.hasNextPage,
    more: () => void list.fetchNextPage(),
    reload: () => void list.refetch(),
    restart: list.data?.pageParams[0] ? () => void queries.resetQueries({ queryKey: key }) : undefined,
  }
}

/** Reads everything again whose key begins with these parts. */
export const changed = (...key: readonly unknown[]): Promise<void> => queries.invalidateQueries({ queryKey: key })
