import { useCallback, useEffect, useRef, useState } from "react"
import type { Listed } from "./list.tsx"

interface Page<Item> {
  readonly items: readonly Item[]
  readonly nextPageToken: string
}

/** Pages of a list in the browser. With more, every change of the list draws all of their rows. */
const mostPages = 10

interface State<Item> {
  readonly pages: readonly (readonly Item[])[]
  /** True after the first page was dropped. */
  readonly isCut: boolean
  /** Undefined before the first page; empty after the last. */
  readonly next: string | undefined
  readonly error: unknown
  readonly isPending: boolean
}

const empty = { pages: [], isCut: false, next: undefined, error: undefined, isPending: true }

/** Reads a list of the service page by page, from the beginning whenever `of` changes. */
export function usePages<Item>(
  of: readonly string[],
  read: (pageToken: string, signal: AbortSignal) => Promise<Page<Item>>,
): Listed<Item> {
  const [state, setState] = useState<State<Item>>(empty)
  const [round, setRound] = useState(0)
  const reading = useRef(read)
  reading.current = read
  const ending = useRef<AbortController>(undefined)
  const readPage = useCallback((pageToken: string) => {
    ending.current?.abort()
    const abort = new AbortController()
    ending.current = abort
    setState((last) => ({ ...last, error: undefined, isPending: true }))
    reading.current(pageToken, abort.signal).then(
      ({ items, nextPageToken }) =>
        !abort.signal.aborted &&
        setState((last) => {
          const pages = pageToken === "" ? [items] : [...last.pages, items].slice(-mostPages)
          const isCut = pageToken !== "" && (last.isCut || last.pages.length === mostPages)
          return { pages, isCut, next: nextPageToken, error: undefined, isPending: false }
        }),
      (error: unknown) => !abort.signal.aborted && setState((last) => ({ ...last, error, isPending: false })),
    )
  }, [])
  const key = of.join("\n")
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list, or a new round, begins again.
  useEffect(() => {
    readPage("")
    return () => ending.current?.abort()
  }, [key, round])
  const restart = () => setRound((last) => last + 1)
  return {
    items: state.pages.flat(),
    error: state.error,
    isPending: state.isPending,
    hasMore: state.next !== undefined && state.next !== "",
    more: () => state.next && readPage(state.next),
    reload: restart,
    restart: state.isCut ? restart : undefined,
  }
}
