import type { Channel } from "@signet/client"

/** A channel among the tabs and workers of an origin, in memory (HTML standard, BroadcastChannel). */
export function createBroadcast(name: string): Channel {
  const listeners = new Set<(message: unknown) => void>()
  let opened: BroadcastChannel | undefined

  function open(): BroadcastChannel {
    if (opened === undefined) {
      opened = new BroadcastChannel(name)
      opened.onmessage = ({ data }: MessageEvent<unknown>) => {
        for (const listener of [...listeners]) listener(data)
      }
    }
    return opened
  }

  return {
    post: (message) => open().postMessage(message),
    subscribe(listener) {
      listeners.add(listener)
      open()
      return () => {
        listeners.delete(listener)
      }
    },
    suspend() {
      opened?.close()
      opened = undefined
    },
    resume() {
      open()
    },
  }
}
