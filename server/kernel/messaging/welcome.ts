import type { DeviceId } from "../ids.ts"
import { equalBytes } from "./bytes.ts"
import { lifetimeMs } from "./limits.ts"
import type { WelcomeRecord } from "./records.ts"

/** A welcome expires after its key package, whose owner keeps the private half one day longer. */
export function welcomeExpiry(keyPackageNotAfterMs: number): number {
  return keyPackageNotAfterMs + lifetimeMs.welcome
}

/** Decides whether a device may consume a welcome. Another device's, a void and an expired one are all NOT_FOUND. */
export function decideConsume(
  welcome: WelcomeRecord | undefined,
  by: { readonly deviceId: DeviceId; readonly key: Uint8Array },
  nowMs: number,
): "consume" | "again" | "WELCOME_ALREADY_CONSUMED" | "NOT_FOUND" {
  if (welcome === undefined || welcome.deviceId !== by.deviceId || welcome.status === "VOID") return "NOT_FOUND"
  if (welcome.status === "CONSUMED") {
    const isSame = welcome.consumedWithKey !== null && equalBytes(welcome.consumedWithKey, by.key)
    return isSame ? "again" : "WELCOME_ALREADY_CONSUMED"
  }
  return nowMs < welcome.expiresAtMs ? "consume" : "NOT_FOUND"
}
