import { Refused } from "@signet/kernel/errors"
import { mayExport, type PlaceMoves, type StoredRecord } from "@signet/kernel/messaging/moving"
import type { Access } from "../access.ts"
import { cursorOf, parseCursor } from "./page.ts"
import { statusOf } from "./place.ts"
import { sections } from "./sections.ts"

/**
 * Exports section after section, up to the page's size. The place does not change meanwhile, because writes are
 * refused.
 */
export const exportPage =
  ({ ask, transact }: Access): PlaceMoves["exportPage"] =>
  async ({ place, transferId, cursor, maxBytes }) => {
    if (!mayExport(await transact((trx) => statusOf(trx, place)), transferId)) throw new Refused("STATE_CONFLICT")
    let { section, key } = parseCursor(cursor, sections)
    const records: StoredRecord[] = []
    let room = maxBytes
    for (let current = sections[section]; current !== undefined; current = sections[section]) {
      const found = await current.page(ask, place, key, { bytes: room, isFirst: records.length === 0 })
      records.push(...found.records)
      room -= found.bytes
      if (found.lastKey !== null) {
        return { records, next: cursorOf({ section, key: found.lastKey.length === 0 ? null : found.lastKey }) }
      }
      section++
      key = null
      if (room <= 0) break
    }
    return { records, next: section < sections.length ? cursorOf({ section, key: null }) : null }
  }
