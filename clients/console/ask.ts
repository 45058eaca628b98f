// Reads of the service, cached by what they ask. A change invalidates what it may have changed.
import { needsSignIn } from "@signet/client-web"
import type { Listed } from "@signet/react/core"
import { QueryClient, type UseQueryResult, useInfiniteQuery, useQuery } from "@tanstack/react-query"

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (count, error) => count < 1 && !needsSignIn(error),
      refetchOnWindowFocus: false,
    },
  },
})

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

/** A list that the service pages: no more than the shown pages are in the browser. */
export function useList<Item>(
  key: readonly unknown[],
  ask: (pageToken: string, signal: AbortSignal) => Promise<Page<Item>>,
): Listed<Item> {
  const list = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => ask(pageParam, signal),
    initialPageParam: "",
    getNextPageParam: ({ nextPageToken }: Page<Item>) => nextPageToken || undefined,
  })
  return {
    items: list.data?.pages.flatMap(({ items }) => items) ?? [],
    error: list.error ?? undefined,
    isPending: list.isFetching,
    hasMore: list.hasNextPage,
    more: () => void list.fetchNextPage(),
    reload: () => void list.refetch(),
  }
}

/** Reads everything again whose key begins with these parts. */
export const changed = (...key: readonly unknown[]): Promise<void> => queries.invalidateQueries({ queryKey: key })
