// Reports to the place whether a removal of the user would end something here.
import type { Entry, Outbox } from "../outbox.ts"
import type { PlaceUser } from "../place/object.ts"
import type { Sql } from "../sql.ts"
import { findArchives } from "./archives.ts"
import { activeDevices, findSelf, newestList, putSelf } from "./rows.ts"

const placeLane = "place"

export const isPlaceReport = (entry: Entry): entry is Entry & { body: PlaceUser } => entry.kind === placeLane

/** Reports the user's state if it has changed. Requires a transaction. */
export function reportChange(
  sql: Sql,
  outbox: Pick<Outbox, "add">,
  { userId, place, version }: Omit<PlaceUser, "hasDevices">,
): void {
  const hasDevices = activeDevices(sql).length > 0 || findArchives(sql).length > 0
  if (findSelf(sql)?.hasDevices === hasDevices) return
  putSelf(sql, { userId, place, hasDevices })
  outbox.add(entryOf({ userId, place, version, hasDevices }))
}

/** Reports the user's state to the place that it was moved to. Requires a transaction. */
export function reportArrival(sql: Sql, outbox: Pick<Outbox, "add">): void {
  const self = findSelf(sql)
  const version = newestList(sql)?.version
  if (self === undefined || version === undefined) return
  const { userId, place, hasDevices } = self
  outbox.add(entryOf({ userId, place, version, hasDevices }))
}

const entryOf = (body: PlaceUser): Entry => ({ lane: placeLane, kind: placeLane, body })
