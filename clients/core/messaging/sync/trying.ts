import type { Context } from "../context.ts"
import { isMessagingError } from "../errors.ts"

/** Does what can be done again later: what fails is told, and ends nothing else. */
export async function trying(
  context: Pick<Context, "emit">,
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

/** The same beside everything else: nobody waits for it, and what ends the messenger ends it in silence. */
export function inBackground(
  context: Pick<Context, "emit">,
  conversationId: string | undefined,
  work: () => Promise<void>,
): void {
  trying(context, conversationId, work).catch((error: unknown) => {
    if (!isMessagingError(error, "CLOSED")) context.emit({ is: "failed", conversationId, error })
  })
}
