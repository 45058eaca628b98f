import type { PlaceMoves } from "@signet/kernel/messaging/moving"
import type { Database } from "../../sql.ts"
import { type AccessOptions, createAccess } from "../access.ts"
import { listBackups } from "./backups.ts"
import { erase, listAttachments } from "./erase.ts"
import { exportPage } from "./export.ts"
import { importPage } from "./import.ts"
import { statusOf, takeStep } from "./place.ts"

/** Moves places from and to this database. */
export function createMoving(db: Database, options: AccessOptions): PlaceMoves {
  const access = createAccess(db, options)
  return {
    status: (place) => access.transact((trx) => statusOf(trx, place)),
    step: takeStep(access),
    erase: erase(access),
    exportPage: exportPage(access),
    importPage: importPage(access),
    ...listAttachments(access),
    ...listBackups(access),
  }
}
