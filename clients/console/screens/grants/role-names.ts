import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { useService } from "@signet/react/core"
import { useAccess } from "../../access.tsx"
import { useAsk } from "../../ask.ts"

/** The keys of an app's newest roles by id. A list shows the id of another one. */
export function useRoleNames(appId: string): ReadonlyMap<string, string> {
  const admin = useService(AppAuthService)
  const { scopes } = useAccess()
  const canRead = scopes.has("auth.roles.read")
  const { data } = useAsk(["roles", appId, "names", canRead], async (signal) => {
    if (!canRead) return new Map<string, string>()
    const { roles } = await admin.listRoles({ appId, pageSize: 200 }, { signal })
    return new Map(roles.map(({ id, key }) => [id, key]))
  })
  return data ?? new Map()
}

/** The roles of a choice, with one that is chosen already although it is not among the newest. */
export const withRole = (roles: ReadonlyMap<string, string>, roleId: string): readonly (readonly [string, string])[] =>
  roleId === "" || roles.has(roleId) ? [...roles] : [[roleId, roleId], ...roles]
