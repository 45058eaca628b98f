import { useCallback, useEffect, useRef, useState } from "react"
import type { Listed } from "./list.tsx"

export interface Read<Data> {
  /** The last answer; undefined before the first. It stays while a later read fails. */
  readonly data: Data | undefined
  readonly error: unknown
  readonly isPending: boolean
  reload(): void
}

/** Reads once, and again after `reload`. An answer that arrives late, after a newer read began, is dropped. */
export function useRead<Data>(read: (signal: AbortSignal) => Promise<Data>): Read<Data> {
  const [state, setState] = useState<{ data?: Data; error?: unknown; isPending: boolean }>({ isPending: true })
  const [round, setRound] = useState(0)
  const reading = useRef(read)
  reading.current = read
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round reads again.
  useEffect(() => {
    const ending = new AbortController()
    setState(({ data }) => ({ ...(data !== undefined && { data }), isPending: true }))
    reading.current(ending.signal).then(
      (data) => !ending.signal.aborted && setState({ data, isPending: false }),
      (error: unknown) =>
        !ending.signal.aborted &&
        setState(({ data }) => ({ ...(data !== undefined && { data }), error, isPending: false })),
    )
    return () => ending.abort()
  }, [round])
  const reload = useCallback(() => setRound((last) => last + 1), [])
  return { data: state.data, error: state.error, isPending: state.isPending, reload }
}

/** A read of a whole list, as `<List>` shows it. */
export const asList = <Data, Item>(read: Read<Data>, itemsOf: (data: Data) => readonly Item[]): Listed<Item> => ({
  items: read.data === undefined ? [] : itemsOf(read.data),
  error: read.error,
  isPending: read.isPending,
  hasMore: false,
  more: () => {},
  reload: read.reload,
})

export interface Action<Input> {
  readonly error: unknown
  readonly isPending: boolean
  /** Resolves to whether it succeeded. A second call while one is pending does nothing. */
  run(input: Input): Promise<boolean>
  clear(): void
}

/** One change at a time, with its error for the page. */
export function useAction<Input = void>(act: (input: Input) => Promise<unknown>): Action<Input> {
  const [state, setState] = useState<{ error?: unknown; isPending: boolean }>({ isPending: false })
  const isRunning = useRef(false)
  const run = async (input: Input): Promise<boolean> => {
    if (isRunning.current) return false
    isRunning.current = true
    setState({ isPending: true })
    try {
      await act(input)
      setState({ isPending: false })
      return true
    } catch (error) {
      setState({ error, isPending: false })
      return false
    } finally {
      isRunning.current = false
    }
  }
  return { error: state.error, isPending: state.isPending, run, clear: () => setState({ isPending: false }) }
}
