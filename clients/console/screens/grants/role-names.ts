import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { useAccess } from "../../access.tsx"
import { skipToken, useList } from "../../ask.ts"
import { keyPrefixOf } from "../role-search.tsx"

export interface RoleNames {
  /** The keys of the roles that were read, by id. */
  readonly names: ReadonlyMap<string, string>
  readonly hasMore: boolean
  more(): void
}

/** The keys of an app's roles that begin with what was typed, newest first, page by page. */
export function useRoleNames(appId: string, typed: string): RoleNames {
  const { scopes } = useAccess()
  const keyPrefix = scopes.has("auth.roles.read") ? keyPrefixOf(typed) : undefined
  const request = keyPrefix === undefined ? skipToken : { appId, keyPrefix, pageSize: 40 }
  const list = useList(AppAuthService.method.listRoles, request, ({ roles }) => roles)
  return { names: new Map(list.items.map(({ id, key }) => [id, key])), hasMore: list.hasMore, more: list.more }
}
