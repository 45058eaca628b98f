// Steps, exports and imports of a place, for tests.
import { idOf, type TenantId } from "@signet/kernel/ids"
import type { PlaceMoves, StoredRecord, TransferStep } from "@signet/kernel/messaging/moving"
import type { Place } from "@signet/kernel/messaging/records"
import { testAuditLogDeps } from "../../../../../test/support/audit-log-deps.ts"
import type { TestStore } from "../../../../../test/support/postgres.ts"
import { createMoving } from "../moving/moving.ts"
import { newAudit, nowMs, random } from "./world.ts"

export const newTenant = (): TenantId => idOf("ten", random(16))
export const movingOf = ({ db }: TestStore) => createMoving(db, { audit: testAuditLogDeps() })
export const step = (moving: PlaceMoves, place: Place, transferId: Uint8Array, name: Exclude<TransferStep, "ERASE">) =>
  moving.step({ place, transferId, step: name, nowMs, audit: newAudit("messaging_place.changed") })

export async function exported(moving: PlaceMoves, place: Place, transferId: Uint8Array, maxBytes = 1 << 20) {
  const pages: (readonly StoredRecord[])[] = []
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page: Awaited<ReturnType<PlaceMoves["exportPage"]>> = await moving.exportPage({
      place,
      transferId,
      cursor,
      maxBytes,
    })
    pages.push(page.records)
    cursor = page.next
  }
  return pages
}

/** Nonces expire independently, so they are not compared. */
export const counted = (pages: readonly (readonly StoredRecord[])[]) =>
  pages.flat().filter(({ is }) => is !== "proofNonce")

export async function carry(
  moving: PlaceMoves,
  place: Place,
  transferId: Uint8Array,
  pages: readonly (readonly StoredRecord[])[],
) {
  for (const records of pages) await moving.importPage({ place, transferId, records })
}
