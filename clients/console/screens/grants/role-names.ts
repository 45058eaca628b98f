import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { useService } from "@signet/react/core"
import { useAccess } from "../../access.tsx"
import { useList } from "../../ask.ts"

export interface RoleNames {
  /** The keys of the roles that were read, by id. A list shows the id of another one. */
  readonly names: ReadonlyMap<string, string>
  readonly hasMore: boolean
  more(): void
}

/** The keys of an app's roles, newest first, page by page. */
export function useRoleNames(appId: string): RoleNames {
  const admin = useService(AppAuthService)
  const { scopes } = useAccess()
  const canRead = scopes.has("auth.roles.read")
  const list = useList(["roles", appId, "names", canRead], async (pageToken, signal) => {
    if (!canRead) return { items: [], nextPageToken: "" }
    const { roles, nextPageToken } = await admin.listRoles({ appId, pageToken, pageSize: 40 }, { signal })
    return { items: roles, nextPageToken }
  })
  return { names: new Map(list.items.map(({ id, key }) => [id, key])), hasMore: list.hasMore, more: list.more }
}
