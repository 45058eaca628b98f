import type { Reports } from "../deps.ts"
import { isMessagingError } from "../errors.ts"

/** Runs work that a later sync repeats. A failure is emitted as a `failed` event, unless it ends the messenger. */
export async function trying(
  context: Reports,
  conversationId: string | undefined,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (isMessagingError(error, "DEVICE_ENDED", "CLOSED")) throw error
    context.emit({ is: "failed", conversationId, error })
  }
}

/** Like `trying`, for background work: never rejects. After `close` a failure is not reported. */
export async function tryingAlone(
  context: Reports,
  conversationId: string | undefined,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await trying(context, conversationId, work)
  } catch (error) {
    if (!isMessagingError(error, "CLOSED")) context.emit({ is: "failed", conversationId, error })
  }
}

/** Starts `tryingAlone` without waiting for it. */
export const inBackground = (...of: Parameters<typeof tryingAlone>): void => void tryingAlone(...of)
