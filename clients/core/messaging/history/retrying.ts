import { withRetries } from "../attachments/retries.ts"
import type { Ambient } from "../deps.ts"
import { isMessagingError } from "../errors.ts"

/**
 * Runs a call about an archive, and retries it while the service cannot be reached.
 *
 * @throws Failure, ConnectError of the last try
 */
export async function retrying<T>(
  context: Ambient,
  signal: AbortSignal | undefined,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await withRetries(context, signal, call)
  } catch (error) {
    // The reason of the service, instead of the one for attachments.
    if (isMessagingError(error, "ATTACHMENT_GONE", "ATTACHMENT_INTERRUPTED")) throw error.cause ?? error
    throw error
  }
}
