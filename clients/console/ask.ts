// Reads of the service. connect-query caches each by its method and request.
import type { DescMessage, DescMethodUnary, Message, MessageInitShape, MessageShape } from "@bufbuild/protobuf"
import type { GenMessage } from "@bufbuild/protobuf/codegenv2"
import type { ConnectError, Transport } from "@connectrpc/connect"
import {
  createConnectQueryKey,
  createQueryOptions,
  type SkipToken,
  useInfiniteQuery,
  useTransport,
} from "@connectrpc/connect-query"
import type { Listed } from "@signet/react/core"
import {
  type InfiniteData,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useQueries,
  useQuery,
} from "@tanstack/react-query"
import { useMemo } from "react"
import { queries } from "./queries.ts"

export { skipToken, useQuery as useMethod } from "@connectrpc/connect-query"

/** A read that is not one call of a method. Every value that it uses is in its key. */
export function useAsk<Data>(
  key: readonly unknown[],
  ask: (signal: AbortSignal) => Promise<Data>,
): UseQueryResult<Data> {
  return useQuery({ queryKey: key, queryFn: ({ signal }) => ask(signal) })
}

/** The answers of a method to several requests that have arrived, each cached by its own request. */
export function useMethods<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  requests: readonly MessageInitShape<I>[],
): readonly MessageShape<O>[] {
  const transport = useTransport()
  const answers = useQueries({ queries: requests.map((request) => createQueryOptions(method, request, { transport })) })
  return answers.flatMap(({ data }) => (data === undefined ? [] : [data as MessageShape<O>]))
}

type Page = GenMessage<Message & { readonly nextPageToken: string }>
type PagesByToken = <I extends DescMessage, O extends Page>(
  method: DescMethodUnary<I, O>,
  request: SkipToken | MessageInitShape<I>,
  options: {
    readonly pageParamKey: "pageToken"
    readonly getNextPageParam: (page: { readonly nextPageToken: string }) => string | undefined
    readonly maxPages: number
    readonly transport?: Transport | undefined
  },
) => UseInfiniteQueryResult<InfiniteData<MessageShape<O>>, ConnectError>

// The library's type does not let a function of any method name a field of its request.
const usePagesByToken = useInfiniteQuery as unknown as PagesByToken

/** Pages of a list in the browser: with more, every change draws all of their rows, and reads all of these pages again. */
const mostPages = 10

/** A list that the service pages. Its items are one array until they change. @param transport Of another audience than the auth service's. */
export function useList<I extends DescMessage, O extends Page, Item>(
  method: DescMethodUnary<I, O>,
  request: SkipToken | MessageInitShape<I>,
  itemsOf: (page: MessageShape<O>) => readonly Item[],
  transport?: Transport,
): Listed<Item> {
  const list = usePagesByToken(method, request, {
    pageParamKey: "pageToken",
    getNextPageParam: ({ nextPageToken }) => nextPageToken || undefined,
    maxPages: mostPages,
    transport,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: every caller's function of a page is always the same one.
  const items = useMemo(() => list.data?.pages.flatMap(itemsOf) ?? [], [list.data])
  return {
    items,
    error: list.error ?? undefined,
    isPending: list.isFetching,
    hasMore: list.hasNextPage,
    more: () => void list.fetchNextPage(),
    reload: () => void list.refetch(),
    restart: list.data?.pageParams[0]
      ? () =>
          void queries.resetQueries({
            queryKey: createConnectQueryKey({ schema: method, input: request, cardinality: "infinite" }),
          })
      : undefined,
  }
}

/** Reads again what the open screen shows, and later what others have shown. A change can affect any of it, as the audit. */
export const changed = (): Promise<void> => queries.invalidateQueries()
