// Which key packages are taken, and which is given away.
import type { Reason } from "../errors.ts"
import { equalBytes } from "./bytes.ts"
import { keyPackagePool, lifetimeMs, maxCount } from "./limits.ts"
import type { ClaimRecord, KeyPackageRecord } from "./records.ts"

type Life = Pick<KeyPackageRecord, "isLastResort" | "notBeforeMs" | "notAfterMs">

/** What is wrong with a package's lifetime, or undefined. Valid while not_before <= now < not_after. */
export function lifetimeFault(life: Life, nowMs: number): "not_before" | "not_after" | "lifetime" | undefined {
  const most = life.isLastResort ? lifetimeMs.lastResort : lifetimeMs.keyPackage
  if (nowMs < life.notBeforeMs) return "not_before"
  if (nowMs + lifetimeMs.keyPackageReserve >= life.notAfterMs) return "not_after"
  return life.notAfterMs - life.notBeforeMs > most ? "lifetime" : undefined
}

/** May a package be given away now? One in its last day is not: its welcome would come too late. */
export function isClaimable(one: Life & Pick<KeyPackageRecord, "status">, nowMs: number): boolean {
  return one.status === "AVAILABLE" && nowMs >= one.notBeforeMs && one.notAfterMs > nowMs + lifetimeMs.keyPackageReserve
}

/**
 * The package of one device that a claim gets: the one that ends soonest, and the last resort only when there is no
 * other. A last resort stays AVAILABLE. The store does the same in its own language.
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

/** Whether there is room for more. A new last resort takes the place of the one there is. */
export function uploadFault(
  available: number,
  upload: readonly Pick<KeyPackageRecord, "isLastResort">[],
): "LIMIT_EXCEEDED" | undefined {
  const once = upload.filter(({ isLastResort }) => !isLastResort).length
  const isTooMany = available + once > maxCount.keyPackages || upload.length - once > 1
  return isTooMany || upload.length > maxCount.keyPackagesPerUpload ? "LIMIT_EXCEEDED" : undefined
}

/** A claim id that was used: the same call again, or another. */
export function decideClaim(
  found: Pick<ClaimRecord, "requestHash" | "requesterDeviceId"> | undefined,
  asked: Pick<ClaimRecord, "requestHash" | "requesterDeviceId">,
): "claim" | "again" | Extract<Reason, "IDEMPOTENCY_MISMATCH"> {
  if (found === undefined) return "claim"
  const isSame = found.requesterDeviceId === asked.requesterDeviceId && equalBytes(found.requestHash, asked.requestHash)
  return isSame ? "again" : "IDEMPOTENCY_MISMATCH"
}
