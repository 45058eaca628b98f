// The names of objects that are not named by an id.
import type { PrincipalId } from "@signet/kernel/ids"
import { hex } from "@signet/kernel/messaging/bytes"
import type { Place } from "@signet/kernel/messaging/records"

export const placeName = ({ appId, tenantId }: Place): string => `${appId}/${tenantId ?? ""}`

export const userName = (userId: PrincipalId, place: Place): string => `${placeName(place)}/${userId}`

export const keyName = (leafKey: Uint8Array): string => `key/${hex(leafKey)}`

/** The same in both orders. */
export const pairName = (place: Place, userIds: readonly PrincipalId[]): string =>
  `pair/${placeName(place)}/${userIds.toSorted().join("/")}`
