// The tokens, resources and steps of which the sequences in snapshots.ts are made.
import type { ResourceRef } from "@signet/kernel/authz/grants"
import type { Requirement } from "@signet/kernel/authz/requirement"
import type { Reason } from "@signet/kernel/errors"
import { newId } from "@signet/kernel/ids"
import { ids } from "../testing/issuer.ts"
import type { Json } from "./feed-script.ts"
import { jwt, statementKey } from "./signer.ts"
import { now } from "./situations.ts"
import { issuer, tokenWith } from "./token-parts.ts"

export type SnapshotAnswer = { readonly jws: string } | { readonly status: number } | "unreachable"

export interface SnapshotStep {
  readonly now: number
  readonly token: string
  /** The requirement of the call; "loadGrants" if a handler loads the caller's grants. */
  readonly requirement: Requirement | "loadGrants"
  /** The name in `resources` of the resource that the target finds. */
  readonly resource?: string
  /** The issuer's expected requests and its answers; no other request is allowed. */
  readonly exchanges: readonly { readonly asked: string; readonly answer: SnapshotAnswer }[]
  readonly expected: /** Both null: the AuthContext says that they are not loaded. */
    | { readonly allow: true; readonly roles: readonly string[] | null; readonly permissions: readonly string[] | null }
    | { readonly allow: false; readonly reason: Reason }
}

export interface SnapshotSequence {
  readonly name: string
  /** Capacity in snapshots; default 1,000. */
  readonly capacity?: number
  readonly steps: readonly SnapshotStep[]
}

export const context = newId("ctx", 1, new Uint8Array(10))
export const otherTenant = newId("ten", 9, new Uint8Array(10))
export const otherApp = newId("app", 9, new Uint8Array(10))
export const otherPrincipal = newId("prn", 9, new Uint8Array(10))
const both = { scp: ["notes.read", "notes.write"], perm_ver: 7, pol_ver: 3 }
export const service = {
  sub: ids.service,
  principal_type: "service",
  gty: "client_credentials",
  client_id: "svc-mail",
  sid: undefined,
  identity_id: undefined,
  auth_time: undefined,
}
export const tokens: Readonly<Record<string, string>> = {
  user: tokenWith(both),
  "user of version 8": tokenWith({ ...both, perm_ver: 8 }),
  reader: tokenWith({ ...both, scp: ["notes.read"] }),
  "no scopes": tokenWith({ ...both, scp: [] }),
  "of no tenant": tokenWith({ ...both, tenant_id: undefined }),
  "of a context": tokenWith({ ...both, context_id: context }),
  service: tokenWith({ ...service, ...both }),
}

export const place = { appId: ids.app, tenantId: ids.tenant, contextId: null }
export const resources = {
  note: { type: "note", id: "n1", ...place },
  "another note": { type: "note", id: "n2", ...place },
  "a note of a context": { type: "note", id: "n1", ...place, contextId: context },
  "a note of another tenant": { type: "note", id: "n1", ...place, tenantId: otherTenant },
  "a folder": { type: "folder", id: "n1", ...place },
} satisfies Record<string, ResourceRef>

export const edit: Requirement = { is: "action", action: "notes.note.edit" }
export const reading: Requirement = { is: "action", action: "notes.note.read" }
export const scope: Requirement = { is: "scope", scope: "notes.read" }
export const asEditorOf: Requirement = { is: "role", role: "editor" }
export const editNote: Requirement = {
  is: "resourceAction",
  action: "notes.note.edit",
  type: "note",
  from: "PATH",
  field: "note_id",
}

export const editor = {
  id: "rol_editor",
  key: "editor",
  permissions: ["notes.note.read", "notes.note.edit"],
  inheritable: true,
}
export const resident = { ...editor, id: "rol_resident", key: "resident", inheritable: false }
export const reader = { id: "rol_reader", key: "reader", permissions: ["notes.note.read"], inheritable: true }
export const grant = (role: { id: string }, change: Json = {}): Json => ({ role_id: role.id, ...change })
export const ofTenant = { tenant_id: ids.tenant }
export const ofNote = { ...ofTenant, resource: { type: "note", id: "n1" } }

/** The claims of a snapshot of the user in its tenant, version 7. */
export const claims = (grants: readonly Json[], change: Json = {}): Json => ({
  iss: issuer,
  iat: now,
  sub: ids.principal,
  app_id: ids.app,
  tenant_id: ids.tenant,
  perm_ver: 7,
  roles: [editor, resident, reader],
  scopes: { "notes.read": ["notes.note.read"], "notes.write": ["notes.note.read", "notes.note.edit"] },
  grants,
  ...change,
})
export const signed = (grants: readonly Json[], change: Json = {}): SnapshotAnswer => ({
  jws: jwt(statementKey, "perm+jwt", claims(grants, change)),
})
export const path = (principal: string, query: string) => `/auth/permissions/${principal}?appId=${ids.app}${query}`
export const asked = path(ids.principal, `&tenantId=${ids.tenant}&permVer=7`)

type Expected = SnapshotStep["expected"]
export const allowed = (roles: readonly string[] | null, permissions: readonly string[] | null): Expected => ({
  allow: true,
  roles,
  permissions,
})
export const refused = (reason: Reason): Expected => ({ allow: false, reason })
export const asEditor = allowed(["editor"], ["notes.note.read", "notes.note.edit"])
export const asReader = allowed(["reader"], ["notes.note.read", "notes.note.edit"])
export const onNotes = allowed([], ["notes.note.read", "notes.note.edit"])
export const notLoaded = allowed(null, null)
export const missing = refused("MISSING_PERMISSION")
export const noRole = refused("MISSING_ROLE")

interface StepOptions {
  readonly answer?: SnapshotAnswer
  readonly asked?: string
  readonly at?: number
  readonly resource?: keyof typeof resources
}
export function step(
  token: string,
  requirement: SnapshotStep["requirement"],
  expected: Expected,
  of: StepOptions = {},
): SnapshotStep {
  const exchanges = of.answer === undefined ? [] : [{ asked: of.asked ?? asked, answer: of.answer }]
  return {
    now: of.at ?? now,
    token,
    requirement,
    ...(of.resource === undefined ? {} : { resource: of.resource }),
    exchanges,
    expected,
  }
}

/** Decisions for a user with these grants: edit anywhere, edit a resource. */
export function granted(
  name: string,
  grants: readonly Json[],
  anywhere: Expected,
  on: Partial<Record<keyof typeof resources, Expected>>,
): SnapshotSequence {
  return {
    name: `granted: ${name}`,
    steps: [
      step("user", edit, anywhere, { answer: signed(grants) }),
      ...Object.entries(on).map(
        ([resource, expected]): SnapshotStep => ({
          ...step("user", editNote, expected),
          resource,
        }),
      ),
    ],
  }
}
export const elsewhere = refused("RESOURCE_NOT_GRANTED")
export const unresolved = refused("RESOURCE_UNRESOLVED")
export const asResident = allowed(["resident"], ["notes.note.read", "notes.note.edit"])
