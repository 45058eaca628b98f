// Rules for accepting key packages and for choosing one for a claim.
import type { Reason } from "../errors.ts"
import { equalBytes } from "./bytes.ts"
import { keyPackagePool, lifetimeMs, maxCount } from "./limits.ts"
import type { ClaimRecord, KeyPackageRecord } from "./records.ts"

type Life = Pick<KeyPackageRecord, "isLastResort" | "notBeforeMs" | "notAfterMs">

/** Returns the invalid part of a package's lifetime; undefined if valid. Valid while not_before <= now < not_after. */
export function lifetimeFault(life: Life, nowMs: number): "not_before" | "not_after" | "lifetime" | undefined {
  const most = life.isLastResort ? lifetimeMs.lastResort : lifetimeMs.keyPackage
  if (nowMs < life.notBeforeMs) return "not_before"
  if (nowMs + lifetimeMs.keyPackageReserve >= life.notAfterMs) return "not_after"
  return life.notAfterMs - life.notBeforeMs > most ? "lifetime" : undefined
}

/** True if a claim may return the package. Its last day is excluded: the welcome would arrive too late. */
export function isClaimable(one: Life & Pick<KeyPackageRecord, "status">, nowMs: number): boolean {
  return one.status === "AVAILABLE" && nowMs >= one.notBeforeMs && one.notAfterMs > nowMs + lifetimeMs.keyPackageReserve
}

/**
 * Chooses a device's package for a claim: the one that expires first, and a last resort only if there is no other. A
 * last resort stays AVAILABLE. The store's SQL does the same.
 */
export function chooseKeyPackage(pool: readonly KeyPackageRecord[], nowMs: number): KeyPackageRecord | undefined {
  const claimable = pool.filter((one) => isClaimable(one, nowMs))
  const once = claimable.filter(({ isLastResort }) => !isLastResort)
  return (once.length > 0 ? once : claimable).toSorted((a, b) => a.notAfterMs - b.notAfterMs)[0]
}

export interface Inventory {
  readonly available: number
  readonly hasLastResort: boolean
  readonly lowWater: number
  readonly isLow: boolean
}

export function inventoryOf(counted: { available: number; hasLastResort: boolean }): Inventory {
  const { lowWater } = keyPackagePool
  return { ...counted, lowWater, isLow: counted.available < lowWater }
}

/** Returns LIMIT_EXCEEDED if an upload exceeds the limits. A new last resort replaces the existing one. */
export function uploadFault(
  available: number,
  upload: readonly Pick<KeyPackageRecord, "isLastResort">[],
): "LIMIT_EXCEEDED" | undefined {
  const once = upload.filter(({ isLastResort }) => !isLastResort).length
  const isTooMany = available + once > maxCount.keyPackages || upload.length - once > 1
  return isTooMany || upload.length > maxCount.keyPackagesPerUpload ? "LIMIT_EXCEEDED" : undefined
}

/** Decides a claim id that was used before: a retry, or another request. */
export function decideClaim(
  found: Pick<ClaimRecord, "requestHash" | "requesterDeviceId"> | undefined,
  asked: Pick<ClaimRecord, "requestHash" | "requesterDeviceId">,
): "claim" | "again" | Extract<Reason, "IDEMPOTENCY_MISMATCH"> {
  if (found === undefined) return "claim"
  const isSame = found.requesterDeviceId === asked.requesterDeviceId && equalBytes(found.requestHash, asked.requestHash)
  return isSame ? "again" : "IDEMPOTENCY_MISMATCH"
}
