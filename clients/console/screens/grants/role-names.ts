import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { useState } from "react"
import { useAccess } from "../../access.tsx"
import { skipToken, useList, useMethod } from "../../ask.ts"
import { keyPrefixOf } from "../role-search.tsx"

export interface RoleName {
  readonly id: string
  readonly key: string
}

export interface RoleNames {
  /** One array until the roles change: the combobox takes another one as a reason to reset its text. */
  readonly items: readonly RoleName[]
  /** The chosen role, also if the search does not find it; undefined until its key is known. */
  readonly chosen: RoleName | undefined
  readonly isPending: boolean
  readonly hasMore: boolean
  readonly more: () => void
}

/**
 * The app's roles whose key begins with what was typed, newest first, page by page.
 *
 * @param typed Undefined reads no list.
 * @param roleId The chosen role.
 */
export function useRoleNames(appId: string, typed: string | undefined, roleId: string): RoleNames {
  const { scopes } = useAccess()
  const canRead = scopes.has("auth.roles.read")
  const keyPrefix = canRead && typed !== undefined ? keyPrefixOf(typed) : undefined
  const request = keyPrefix === undefined ? skipToken : { appId, keyPrefix, pageSize: 40 }
  const list = useList(AppAuthService.method.listRoles, request, ({ roles }) => roles)
  const { items } = list
  // The chosen role keeps its key while a search finds others.
  const [last, setLast] = useState<RoleName>()
  const known = (last?.id === roleId ? last : undefined) ?? items.find(({ id }) => id === roleId)
  const isElsewhere = roleId !== "" && canRead && known === undefined && !list.isPending
  const { data } = useMethod(AppAuthService.method.getRole, isElsewhere ? { appId, roleId } : skipToken)
  const chosen = known ?? (data?.role?.id === roleId ? data.role : undefined)
  if (chosen !== undefined && chosen !== last) setLast(chosen)
  return { ...list, chosen }
}
