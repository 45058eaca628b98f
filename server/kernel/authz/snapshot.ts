// Encodes a permission snapshot as claims of a signed statement, and parses it.
import type { Place } from "../administration/ports.ts"
import { type AppId, type ContextId, type PrincipalId, parseId, type TenantId } from "../ids.ts"
import { isJson, isText, isTexts, type Json } from "../json.ts"
import type { PermissionSnapshot, SnapshotRole } from "./effective.ts"
import type { HeldGrant } from "./grants.ts"
import { type AuthorityVersions, permVerOf } from "./versions.ts"

/** Identifies a snapshot: the request states all fields, and the answer must match all of them. */
export interface SnapshotKey extends Place {
  readonly principalId: PrincipalId
  readonly permVer: number
}

/** Maximum length of a signed snapshot, in characters. */
export const maxSnapshotLength = 1_048_576

export function snapshotClaims(of: {
  issuer: string
  key: Omit<SnapshotKey, "permVer">
  versions: AuthorityVersions
  snapshot: PermissionSnapshot
  nowSeconds: number
}): Json {
  const { key, snapshot } = of
  return {
    iss: of.issuer,
    iat: of.nowSeconds,
    sub: key.principalId,
    app_id: key.appId,
    ...placeClaims(key),
    perm_ver: permVerOf(of.versions),
    roles: [...snapshot.roles].map(([id, { key, permissions, inheritable }]) => ({
      id,
      key,
      permissions: [...permissions],
      inheritable,
    })),
    scopes: Object.fromEntries([...snapshot.scopes].map(([scope, permissions]) => [scope, [...permissions]])),
    grants: snapshot.grants.map((grant) => ({
      role_id: grant.roleId,
      ...placeClaims(grant),
      ...(grant.resource === null ? {} : { resource: grant.resource }),
      ...(grant.expiresAtMs === null ? {} : { expires_at_ms: grant.expiresAtMs }),
    })),
  }
}

const placeClaims = ({ tenantId, contextId }: Pick<Place, "tenantId" | "contextId">): Json => ({
  ...(tenantId === null ? {} : { tenant_id: tenantId }),
  ...(contextId === null ? {} : { context_id: contextId }),
})

/**
 * Parses the snapshot of a verified statement. Undefined unless issuer and key match exactly and every part parses: an
 * older snapshot or another principal's is rejected.
 */
export function parseSnapshot(payload: unknown, issuer: string, key: SnapshotKey): PermissionSnapshot | undefined {
  if (!isJson(payload)) return undefined
  const { iss, sub, app_id, tenant_id = null, context_id = null, perm_ver } = payload
  const isAsked =
    iss === issuer &&
    sub === key.principalId &&
    app_id === key.appId &&
    tenant_id === key.tenantId &&
    context_id === key.contextId &&
    perm_ver === key.permVer
  if (!isAsked || !isJson(payload.scopes)) return undefined
  const roles = parseAll(payload.roles, parseRole)
  const grants = parseAll(payload.grants, (grant) => parseGrant(grant, key.appId))
  const scopes = parseAll(Object.entries(payload.scopes), ([scope, permissions]: readonly [string, unknown]) =>
    isTexts(permissions) ? ([scope, new Set(permissions)] as const) : undefined,
  )
  if (roles === undefined || grants === undefined || scopes === undefined) return undefined
  return { roles: new Map(roles), scopes: new Map(scopes), grants }
}

/** Undefined unless the value is a list whose every element parses. */
function parseAll<From, To>(list: unknown, parse: (one: From) => To | undefined): readonly To[] | undefined {
  if (!Array.isArray(list)) return undefined
  const parsed = list.map(parse).filter((one) => one !== undefined)
  return parsed.length === list.length ? parsed : undefined
}

function parseRole(role: unknown): readonly [string, SnapshotRole] | undefined {
  if (!isJson(role)) return undefined
  const { id, key, permissions, inheritable } = role
  if (!isText(id) || !isText(key) || !isTexts(permissions) || typeof inheritable !== "boolean") return undefined
  return [id, { key, permissions: new Set(permissions), inheritable }]
}

function parseGrant(grant: unknown, appId: AppId): HeldGrant | undefined {
  if (!isJson(grant) || !isText(grant.role_id)) return undefined
  const tenantId = orNull(grant.tenant_id, parseTenant)
  const contextId = orNull(grant.context_id, parseContext)
  const resource = orNull(grant.resource, parseResource)
  const expiresAtMs = orNull(grant.expires_at_ms, (ms) => (Number.isSafeInteger(ms) ? Number(ms) : undefined))
  // A field that narrows the grant but cannot be parsed must not widen it.
  if (tenantId === undefined || contextId === undefined || resource === undefined || expiresAtMs === undefined) {
    return undefined
  }
  return { roleId: grant.role_id, appId, tenantId, contextId, resource, expiresAtMs }
}

function orNull<T>(value: unknown, parse: (value: unknown) => T | undefined): T | null | undefined {
  return value === undefined ? null : parse(value)
}

const parseTenant = (id: unknown): TenantId | undefined => (isText(id) ? parseId("ten", id) : undefined)
const parseContext = (id: unknown): ContextId | undefined => (isText(id) ? parseId("ctx", id) : undefined)

function parseResource(resource: unknown): HeldGrant["resource"] | undefined {
  if (!isJson(resource) || !isText(resource.type) || !isText(resource.id)) return undefined
  return { type: resource.type, id: resource.id }
}
