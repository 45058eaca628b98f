import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { PlaceStatus } from "@signet/proto/auth/v1/apps"
import { Grant_Status } from "@signet/proto/auth/v1/grants"
import { Membership_Status } from "@signet/proto/auth/v1/records"
import { amountOf, useService } from "@signet/react/core"
import { useAccess } from "../../access.tsx"
import { t } from "../../text/counted.ts"

/** The app itself, a tenant or a context of it. */
interface At {
  readonly tenantId?: string
  readonly contextId?: string
}

export type CountEnds = (what: "suspend" | "archive", signal: AbortSignal) => Promise<string>

/**
 * Counts what ends with an app, a tenant or a context, as far as the caller may read it: the members whose sessions
 * end, once for each membership; on archiving also the grants, contexts and tenants inside.
 */
export function usePlaceCounts(appId: string): (at: At) => CountEnds {
  const admin = useService(AppAuthService)
  const { scopes } = useAccess()
  return (at) => async (what, signal) => {
    const asked = { appId, ...at, pageSize: 200 }
    const active = Membership_Status.ACTIVE
    const isLive = ({ status }: { status: PlaceStatus }) => status !== PlaceStatus.ARCHIVED
    const members = async () => {
      const { memberships, nextPageToken } = await admin.listMemberships({ ...asked, status: active }, { signal })
      return t.memberships(amountOf(memberships, nextPageToken))
    }
    const tenants = async () => {
      const { tenants: all, nextPageToken } = await admin.listTenants(asked, { signal })
      return t.tenants(amountOf(all.filter(isLive), nextPageToken))
    }
    const contexts = async () => {
      const { contexts: all, nextPageToken } = await admin.listContexts(asked, { signal })
      return t.contexts(amountOf(all.filter(isLive), nextPageToken))
    }
    const grants = async () => {
      const { grants: all, nextPageToken } = await admin.listGrants(asked, { signal })
      return t.grants(
        amountOf(
          all.filter(({ status }) => status === Grant_Status.ACTIVE),
          nextPageToken,
        ),
      )
    }
    const isArchiving = what === "archive"
    const readsPlaces = isArchiving && scopes.has("auth.tenants.read") && at.contextId === undefined
    const counts = [
      ...(scopes.has("auth.members.read") ? [members] : []),
      ...(readsPlaces && at.tenantId === undefined ? [tenants] : []),
      ...(readsPlaces ? [contexts] : []),
      ...(isArchiving && scopes.has("auth.grants.read") ? [grants] : []),
    ]
    if (counts.length === 0) throw new Error("the token may not read what ends")
    return (await Promise.all(counts.map((count) => count()))).join(" ")
  }
}
