import { equalBytes } from "@signet/canonical/bytes"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import type { ReadConversation } from "../context.ts"
import type { Arrival } from "../conversation/event.ts"
import { MlsError } from "../mls.ts"
import type { Draft } from "./draft.ts"

/**
 * True for an envelope of the log whose bytes this device has sent and applied before, as far as its tail goes. The
 * engine recognizes only own messages of the current epoch.
 */
export async function isOwnRepeated(
  { device }: Pick<ReadConversation, "device">,
  { applied, ownTail }: Pick<Draft, "applied" | "ownTail">,
  { source, envelope: { message } }: Arrival,
): Promise<boolean> {
  if (source !== "log") return false
  const isIt = (one: Envelope) => one.senderDeviceId === device.id && equalBytes(one.message, message)
  return applied.some(isIt) || (await ownTail()).some(isIt)
}

/** The verdict on a repeated envelope. @param cause The verdict of its checks. */
export const ownRepeated = (cause: unknown): MlsError =>
  new MlsError("OWN_REPLAY", "this device has sent and applied these bytes before", { cause })
