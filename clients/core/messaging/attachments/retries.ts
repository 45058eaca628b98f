import { failureOf, isFailure } from "../../errors.ts"
import { isUnreachable, longestAskedMs, pause, retryDelayMs } from "../conversation/backoff.ts"
import type { Ambient } from "../deps.ts"
import { MessagingError } from "../errors.ts"

const maxTries = 3

/**
 * Runs a call about an attachment, and retries it while the service cannot be reached.
 *
 * @throws MessagingError ATTACHMENT_INTERRUPTED, ATTACHMENT_GONE
 */
export async function withRetries<T>(
  { clock, random }: Ambient,
  signal: AbortSignal | undefined,
  call: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    signal?.throwIfAborted()
    try {
      return await call()
    } catch (cause) {
      signal?.throwIfAborted()
      if (isFailure(cause, "RESOURCE_UNRESOLVED")) {
        throw new MessagingError("ATTACHMENT_GONE", "the service no longer stores the attachment", { cause })
      }
      const retryAfterMs = isFailure(cause, "RATE_LIMITED") ? failureOf(cause)?.retryAfterMs : undefined
      if (retryAfterMs === undefined && !isUnreachable(cause)) throw cause
      const waitMs = retryAfterMs ?? retryDelayMs(random, tries)
      if (tries === maxTries || waitMs > longestAskedMs) {
        throw new MessagingError("ATTACHMENT_INTERRUPTED", "the service cannot be reached", { cause })
      }
      await pause(clock, waitMs)
    }
  }
}
