import type { Reports } from "../deps.ts"
import { isMessagingError } from "../errors.ts"

/** Does what can be done again later: what fails is told, and ends nothing else. */
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

/** The same beside everything else, where what ends the messenger ends it in silence. Never rejects. */
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

/** The same, and nobody waits for it. */
export const inBackground = (...of: Parameters<typeof tryingAlone>): void => void tryingAlone(...of)
