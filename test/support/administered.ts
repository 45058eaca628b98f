// One record of each administered kind, and requests that name them, for tests of every method.
import { type DescField, type DescMethod, fromBinary, type JsonObject } from "@bufbuild/protobuf"
import { base64Decode } from "@bufbuild/protobuf/wire"
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt"
import { newId, type PrincipalId } from "@signet/kernel/ids"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { sql } from "kysely"
import type { Clients } from "./clients.ts"
import type { TestServer } from "./server.ts"

/** Ids by the names of their request fields. */
export interface Ids {
  app_id: string
  provider_client_id: string
  tenant_id: string
  context_id: string
  membership_id: string
  invitation_id: string
  permission_key: string
  role_id: string
  grant_id: string
  session_id: string
  principal_id: string
  provider_account_id: string
  lockout_id: string
}

type Options = { headers: Record<string, string> }

interface Where {
  appId: string
  tenantId: string
  contextId: string
  /** "context" for a membership, an invitation and a grant in the context. Default: in the tenant. */
  level?: "tenant" | "context"
  /** An active member of the app. */
  principalId: PrincipalId
  providerAccountId: string
  /** A session of the principal at this place. */
  sessionId?: string
}

/** Ids that do not exist. */
export function noIds(random: () => Uint8Array): Ids {
  const id = (kind: Parameters<typeof newId>[0]) => newId(kind, Date.now(), random())
  return {
    app_id: id("app"),
    provider_client_id: id("pcl"),
    tenant_id: id("ten"),
    context_id: id("ctx"),
    membership_id: id("mem"),
    invitation_id: id("inv"),
    permission_key: `missing.thing.do${Math.floor(Math.random() * 1e9)}`,
    role_id: id("rol"),
    grant_id: id("grt"),
    session_id: id("ses"),
    principal_id: id("prn"),
    provider_account_id: id("pac"),
    lockout_id: Buffer.from(random()).toString("hex").padEnd(64, "0"),
  }
}

let made = 0

/** Creates one record of each kind with an administrator's rights; in the tenant if the kind allows it. */
export async function makeOneOfEach(clients: Clients, root: Options, where: Where): Promise<Ids> {
  const { admin } = clients
  const { appId, principalId, contextId } = where
  const tenantId = where.tenantId || idOf((await admin.createTenant({ appId, tenant: { name: "T" } }, root)).tenant)
  const inTenant = { tenantId, type: "project", name: "P" }
  const context = contextId || idOf((await admin.createContext({ appId, context: inTenant }, root)).context)
  const listed = await admin.listProviderClients({ appId }, root)
  const there = { appId, tenantId, contextId: where.level === "context" ? context : "" }
  const mine = await admin.listMemberships({ ...there, principalId }, root)
  const membership =
    mine.memberships.find((each) => each.contextId === there.contextId) ??
    (await admin.createMembership({ ...there, principalId }, root)).membership
  const { invitation } = await admin.inviteMember(there, root)
  const key = `made.thing.do${made++}`
  await admin.createPermission({ appId, permission: { key } }, root)
  const { role } = await admin.createRole({ appId, role: { tenantId, key: `role${made}`, permissions: [key] } }, root)
  const { grant } = await admin.createGrant({ ...there, principalId, roleId: idOf(role) }, root)
  return {
    app_id: appId,
    provider_client_id: idOf(listed.providerClients[0]),
    tenant_id: tenantId,
    context_id: context,
    membership_id: idOf(membership),
    invitation_id: idOf(invitation),
    permission_key: key,
    role_id: idOf(role),
    grant_id: idOf(grant),
    session_id: where.sessionId ?? "",
    principal_id: principalId,
    provider_account_id: where.providerAccountId,
    lockout_id: "a".repeat(64),
  }
}

function idOf(made: { id: string } | undefined): string {
  if (made === undefined) throw new Error("nothing was made")
  return made.id
}

export const isRead = ({ idempotency }: DescMethod): boolean =>
  idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS

export const administrationMethods: readonly DescMethod[] = AppAuthService.methods

/** A server that requests are built for: a test server, or a program in another process. */
export interface Target {
  readonly url: string
  readonly idp: Pick<TestServer["idp"], "issuer" | "jwksUri">
  readonly deps: { readonly clock: Pick<TestServer["deps"]["clock"], "nowMs"> }
}

/** Fields of a request besides ids, valid so that only the ids can cause a refusal. */
const bodies = (word: string): Record<string, JsonObject> => ({
  App: { name: word },
  Tenant: { name: word },
  Context: { name: word },
  ProviderClient: { clientId: word },
  Membership: { profile: { name: word } },
  Permission: { description: word },
  Role: { description: word },
  ProviderSubject: { provider: "IDP_A", subject: word },
})

/** Fields that are only set at creation. */
const creations = ({ idp }: Target): Record<string, JsonObject> => ({
  Context: { type: "project" },
  ProviderClient: {
    provider: "IDP_A",
    platform: "ANDROID",
    issuers: [idp.issuer],
    jwksUri: idp.jwksUri,
  },
  Permission: { key: "named.thing.do" },
  Role: { key: "named" },
})

/** Request fields that contain an id: `tenant_id`, `tenant_ids`, and in a created record `role.tenant_id`. */
export function idPaths(method: DescMethod): string[] {
  return method.input.fields.flatMap((field) => {
    if (isId(field)) return [field.name]
    if (field.fieldKind !== "message" || !method.name.startsWith("Create")) return []
    const places = field.message.fields.filter(({ name }) => name === "tenant_id")
    return places.map(({ name }) => `${field.name}.${name}`)
  })
}

/** The kind of the id in a field of `idPaths`. */
export const idKind = (path: string): keyof Ids => (path.split(".").at(-1) ?? "").replace(/_ids$/, "_id") as keyof Ids

const isId = (field: DescField): boolean => isIdList(field) || isOneId(field)
const isOneId = ({ name, fieldKind }: DescField): boolean =>
  fieldKind === "scalar" && (name.endsWith("_id") || name === "permission_key")
const isIdList = ({ name, fieldKind }: DescField): boolean => fieldKind === "list" && name.endsWith("_ids")

/** A list that is narrowed by these fields alone is empty for an id of another place, as for an unknown id. */
export const isIdFilter = ({ name }: DescMethod, paths: readonly string[]): boolean =>
  name.startsWith("List") && paths.every((path) => /_ids$|^(principal|role)_id$/.test(path))

/** A valid JSON request with the given ids. */
export function requestOf(
  server: Target,
  method: DescMethod,
  ids: Ids,
  change: Record<string, string> = {},
): JsonObject {
  const isCreation = method.name.startsWith("Create")
  const json: JsonObject = {}
  for (const field of method.input.fields) {
    const id = change[field.name] ?? ids[idKind(field.name)]
    if (isOneId(field)) json[field.jsonName] = id
    if (isIdList(field)) json[field.jsonName] = [id]
    if (field.name === "lock_expires_at") {
      json[field.jsonName] = new Date(server.deps.clock.nowMs() + 3_600_000).toISOString()
    }
    if (field.fieldKind !== "message") continue
    const body = bodies(isCreation ? "named" : "renamed")[field.message.name]
    if (body === undefined) continue
    const made: JsonObject = { ...body, ...(isCreation ? creations(server)[field.message.name] : {}) }
    if (idPaths(method).includes(`${field.name}.tenant_id`)) {
      made.tenantId = change[`${field.name}.tenant_id`] ?? ids.tenant_id
    }
    json[field.jsonName] = made
  }
  return json
}

export interface RawAnswer {
  status: number
  /** The raw body. */
  text: string
  reason: string
  field: string
}

/** Sends JSON over Connect, so that tests see the raw response. */
export async function callRaw(
  server: Pick<Target, "url">,
  method: DescMethod,
  request: JsonObject | string,
  { headers }: Options,
): Promise<RawAnswer> {
  const response = await fetch(`${server.url}/${method.parent.typeName}/${method.name}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: typeof request === "string" ? request : JSON.stringify(request),
  })
  const text = await response.text()
  const details: { type: string; value: string }[] = text === "" ? [] : (JSON.parse(text).details ?? [])
  const found = details.find(({ type }) => type === "google.rpc.ErrorInfo")
  const info = found && fromBinary(ErrorInfoSchema, base64Decode(found.value))
  return { status: response.status, text, reason: info?.reason ?? "", field: info?.metadata.field ?? "" }
}

const kept = [
  "app",
  "provider_client",
  "tenant",
  "context",
  "membership",
  "invitation",
  "permission",
  "role",
  "role_grant",
  "principal",
  "provider_account",
  "identity",
  "session",
  "revocation",
] as const

/** All data that administration could change, as text: one statement, because tests compare it after each call. */
export async function snapshot({ store }: TestServer): Promise<string> {
  // A background job numbers revocations for the feed.
  const tables = kept.map(
    (name) => sql`${sql.lit(name)}, (select json_agg(to_jsonb(t) - 'seq' - 'is_pending') from ${sql.table(name)} t)`,
  )
  const all = sql<{ text: string }>`select jsonb_pretty(jsonb_build_object(${sql.join(tables)})) as text`
  const { rows } = await all.execute(store.db)
  return rows[0]?.text ?? ""
}
