import { Refused } from "@signet/kernel/errors"
import type { DeviceId, SessionId } from "@signet/kernel/ids"
import type { MessagingDeps } from "../../deps.ts"

/** Why a stream must end: its device or session has ended. Undefined if it may continue. */
export async function endingOf(
  { store, accounts }: Pick<MessagingDeps, "store" | "accounts">,
  of: { readonly deviceId: DeviceId; readonly sessionId: SessionId | null },
): Promise<Refused | undefined> {
  const device = await store.devices.find(of.deviceId)
  if (device?.status !== "ACTIVE") return new Refused("DEVICE_REVOKED")
  const { sessionId } = of
  if (sessionId === null) return undefined
  const state = (await accounts.findSession(sessionId))?.state ?? "REVOKED"
  if (state === "ACTIVE") return undefined
  return new Refused(state === "EXPIRED" ? "SESSION_EXPIRED" : "SESSION_REVOKED")
}
