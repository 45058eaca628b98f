// Watches the end of the revocation log: entries that any process commits get their position at once, and those of a
// crashed process soon after.
import type { RevocationLog } from "@signet/kernel/revocation/ports"
import type { Deps } from "../rpc/deps.ts"
import { createRevocationFeed, type RevocationFeed } from "../rpc/revocation/feed.ts"
import type { OpenWakeups } from "../wakeups/wakeups.ts"
import { every } from "./every.ts"

export interface Revocations {
  readonly feed: RevocationFeed
  /** Signals that this process committed entries. */
  committed(): void
  stop(): Promise<void>
}

/** Polling interval, which bounds the delay of an entry whose notification was lost. */
const pollMs = 500

export function startRevocations(options: {
  readonly log: RevocationLog
  readonly deps: Pick<Deps, "clock" | "issuer">
  readonly wakeups: Pick<OpenWakeups, "announceRevocations" | "onRevocations">
  readonly onFault: (fault: unknown) => void
}): Revocations {
  const { log, deps, wakeups, onFault } = options
  const { clock, issuer } = deps
  const feed = createRevocationFeed({ log, clock, issuer, announce: wakeups.announceRevocations })
  let isStopped = false
  const look = () => {
    if (!isStopped) feed.look().catch(onFault)
  }
  wakeups.onRevocations(look)
  const stopPolling = every(pollMs, feed.look, onFault)
  return {
    feed,
    committed: look,
    async stop() {
      isStopped = true
      await stopPolling()
      await feed.settled()
    },
  }
}
