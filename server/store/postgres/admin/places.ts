import type { Place, PlaceFacts, Places } from "@signet/kernel/administration/ports"
import type { PlaceStatus } from "@signet/kernel/administration/records"
import { type Database, run } from "../sql.ts"

export interface PlaceRow {
  app: PlaceStatus | null
  tenant: PlaceStatus | null
  context: PlaceStatus | null
}

/**
 * The three columns of PlaceRow.
 *
 * @param of The statement's parameters. For tenant and context, the empty text stands for none.
 * @param lock The lock clause of each look-up, such as "for key share".
 */
export const placeText = ({ appId, tenantId, contextId }: Record<keyof Place, string>, lock = ""): string => `
  (select status from app where id = ${appId} ${lock}) as app,
  (select status from tenant where id = ${tenantId} and app_id = ${appId} ${lock}) as tenant,
  (select status from context where id = ${contextId} and app_id = ${appId}
    and coalesce(tenant_id, '') = ${tenantId} ${lock}) as context`

const parameters = { appId: "$1", tenantId: "$2", contextId: "$3" }
const findText = `select ${placeText(parameters)}`
const lockSharedText = `select ${placeText(parameters, "for key share")}`

export function places(db: Database): Places {
  const ask = async (text: string, place: Place) => {
    const { appId, tenantId, contextId } = place
    const [row] = await run<PlaceRow>(db, text, [appId, tenantId ?? "", contextId ?? ""])
    return placeFactsOf(row, place)
  }
  return {
    find: (place) => ask(findText, place),
    lockShared: (place) => ask(lockSharedText, place),
  }
}

export const placeFactsOf = (row: PlaceRow | undefined, { tenantId, contextId }: Omit<Place, "appId">): PlaceFacts => ({
  app: row?.app ?? undefined,
  tenant: tenantId === null ? null : (row?.tenant ?? undefined),
  context: contextId === null ? null : (row?.context ?? undefined),
})
