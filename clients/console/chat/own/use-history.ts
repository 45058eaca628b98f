import type { Messenger } from "@signet/client-web/messaging"
import { runHistory } from "@signet/client-web/messaging/history"
import { useCallback, useEffect, useRef, useState } from "react"

export interface Transfers {
  readonly isRunning: boolean
  /** Chunks that were sent or imported. */
  readonly parts: number
  /** True after a transfer has ended well. */
  readonly isDone: boolean
  readonly error: unknown
  /** Continues all transfers of this device. */
  start(): void
  stop(): void
}

/** Continues transfers of history while the page is open: also those from before a reload. */
export function useHistory(messenger: Messenger): Transfers {
  const [state, setState] = useState({ isRunning: false, parts: 0, isDone: false, error: undefined as unknown })
  const ending = useRef<AbortController>(undefined)
  const start = useCallback(() => {
    ending.current?.abort()
    const next = new AbortController()
    ending.current = next
    const { signal } = next
    let parts = 0
    setState({ isRunning: true, parts, isDone: false, error: undefined })
    const onProgress = ({ chunks }: { chunks: number }) => {
      parts = chunks
      if (!signal.aborted) setState((last) => ({ ...last, parts }))
    }
    runHistory(messenger, { signal, onProgress }).then(
      () => !signal.aborted && setState({ isRunning: false, parts, isDone: parts > 0, error: undefined }),
      (error: unknown) => !signal.aborted && setState({ isRunning: false, parts, isDone: false, error }),
    )
  }, [messenger])
  const stop = useCallback(() => {
    ending.current?.abort()
    setState({ isRunning: false, parts: 0, isDone: false, error: undefined })
  }, [])
  useEffect(() => {
    start()
    return () => ending.current?.abort()
  }, [start])
  return { ...state, start, stop }
}
