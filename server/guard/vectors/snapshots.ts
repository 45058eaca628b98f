// Builds snapshots.json: permissions of callers in signed snapshots, and the decisions with them.
import { ids } from "../testing/issuer.ts"
import type { Json } from "./feed-script.ts"
import { accessKey, jwt, nextKey, statementKey } from "./signer.ts"
import { now } from "./situations.ts"
import {
  allowed,
  asEditor,
  asEditorOf,
  asReader,
  asResident,
  claims,
  context,
  edit,
  editNote,
  editor,
  elsewhere,
  grant,
  granted,
  missing,
  noRole,
  notLoaded,
  ofNote,
  ofTenant,
  onNotes,
  otherApp,
  otherPrincipal,
  otherTenant,
  path,
  reader,
  reading,
  refused,
  resident,
  resources,
  type SnapshotAnswer,
  type SnapshotSequence,
  scope,
  signed,
  step,
  tokens,
  unresolved,
} from "./snapshot-steps.ts"
import { audience, issuer } from "./token-parts.ts"

const decisions: readonly SnapshotSequence[] = [
  granted("editor of the app", [grant(editor)], asEditor, {
    note: asEditor,
    "another note": asEditor,
    "a note of a context": unresolved,
    "a note of another tenant": unresolved,
    "a folder": unresolved,
  }),
  granted("editor of the tenant", [grant(editor, ofTenant)], asEditor, { note: asEditor, "another note": asEditor }),
  granted("editor of the note", [grant(editor, ofNote)], onNotes, { note: onNotes, "another note": elsewhere }),
  granted(
    "editor of a folder of that id",
    [grant(editor, { ...ofTenant, resource: { type: "folder", id: "n1" } })],
    onNotes,
    { note: elsewhere },
  ),
  granted("editor of such a note of no tenant", [grant(editor, { resource: ofNote.resource })], missing, {
    note: missing,
  }),
  granted(
    "editor of another note, and of such a note of no tenant",
    [
      grant(editor, { ...ofTenant, resource: { type: "note", id: "n2" } }),
      grant(editor, { resource: ofNote.resource }),
    ],
    onNotes,
    { note: elsewhere, "another note": onNotes },
  ),
  granted("editor of another tenant", [grant(editor, { tenant_id: otherTenant })], missing, { note: missing }),
  granted("editor of a context", [grant(editor, { ...ofTenant, context_id: context })], missing, { note: missing }),
  granted("resident of the app", [grant(resident)], missing, { note: missing }),
  granted("resident of the tenant", [grant(resident, ofTenant)], asResident, { note: elsewhere }),
  granted("resident of the note", [grant(resident, ofNote)], onNotes, { note: onNotes }),
  granted("reader", [grant(reader)], missing, { note: missing }),
  granted("reader, and editor of the note", [grant(reader), grant(editor, ofNote)], asReader, {
    note: asReader,
    "another note": elsewhere,
  }),
  granted("a role that the snapshot does not have", [grant({ id: "rol_other" })], missing, {}),
  granted("nothing", [], missing, { note: missing }),
  {
    name: "scopes narrow what was granted",
    steps: [
      step("reader", edit, missing, { answer: signed([grant(editor)]) }),
      step("reader", reading, allowed(["editor"], ["notes.note.read"])),
      step("no scopes", reading, missing),
      step("user", edit, asEditor),
    ],
  },
  {
    name: "a grant ends at its time, while its snapshot is held",
    steps: [
      step("user", edit, asEditor, { answer: signed([grant(editor, { expires_at_ms: (now + 60) * 1_000 })]) }),
      step("user", edit, missing, { at: now + 60 }),
    ],
  },
]

const keys: readonly SnapshotSequence[] = [
  {
    name: "what was granted is asked once for each version and place, for exactly what the token says",
    steps: [
      step("user", edit, asEditor, { answer: signed([grant(editor)]) }),
      step("user", edit, asEditor),
      step("user of version 8", edit, missing, {
        answer: signed([], { perm_ver: 8 }),
        asked: path(ids.principal, `&tenantId=${ids.tenant}&permVer=8`),
      }),
      step("user", edit, asEditor),
      step("of no tenant", edit, asEditor, {
        answer: signed([grant(editor)], { tenant_id: undefined }),
        asked: path(ids.principal, "&permVer=7"),
      }),
      step("of a context", edit, asEditor, {
        answer: signed([grant(editor)], { context_id: context }),
        asked: path(ids.principal, `&tenantId=${ids.tenant}&contextId=${context}&permVer=7`),
      }),
      step("service", edit, asEditor, {
        answer: signed([grant(editor)], { sub: ids.service }),
        asked: path(ids.service, `&tenantId=${ids.tenant}&permVer=7`),
      }),
    ],
  },
  {
    name: "is not asked where scopes decide, nor for a call that fails before",
    steps: [
      step("user", scope, notLoaded),
      step("user", { is: "anyOf", of: [edit, scope] }, notLoaded),
      step(
        "user",
        { is: "allOf", of: [edit, { is: "kinds", of: ["SERVICE"] }] },
        refused("PRINCIPAL_KIND_NOT_ALLOWED"),
      ),
      step("user", editNote, unresolved, { resource: "a folder" }),
    ],
  },
  {
    name: "a role is asked for, and is held in the whole place of the token",
    steps: [
      step("user", asEditorOf, asEditor, { answer: signed([grant(editor)]) }),
      step("no scopes", asEditorOf, allowed(["editor"], [])),
      step("user of version 8", asEditorOf, noRole, {
        answer: signed([grant(editor, ofNote), grant(reader)], { perm_ver: 8 }),
        asked: path(ids.principal, `&tenantId=${ids.tenant}&permVer=8`),
      }),
    ],
  },
  {
    name: "what is in memory is told to every handler, and what is not is loaded when a handler asks",
    steps: [
      step("user", scope, notLoaded),
      step("user", "loadGrants", asEditor, { answer: signed([grant(editor)]) }),
      step("user", "loadGrants", asEditor),
      step("user", scope, asEditor),
      step("reader", scope, allowed(["editor"], ["notes.note.read"])),
      step("user of version 8", scope, notLoaded),
      step("user of version 8", "loadGrants", allowed([], []), {
        answer: signed([], { perm_ver: 8 }),
        asked: path(ids.principal, `&tenantId=${ids.tenant}&permVer=8`),
      }),
      step("user of version 8", scope, allowed([], [])),
    ],
  },
  {
    name: "grants that cannot be loaded are not none",
    steps: [
      step("user", "loadGrants", refused("UNAVAILABLE"), { answer: "unreachable" }),
      step("user", scope, notLoaded),
      step("user", "loadGrants", refused("PERMISSIONS_STALE"), { answer: { status: 409 } }),
      step("user", scope, notLoaded),
    ],
  },
  {
    name: "a grant that ends at its time leaves what is in memory",
    steps: [
      step("user", "loadGrants", asEditor, { answer: signed([grant(editor, { expires_at_ms: (now + 60) * 1_000 })]) }),
      step("user", scope, asEditor, { at: now + 59 }),
      step("user", scope, allowed([], []), { at: now + 60 }),
    ],
  },
  {
    name: "permissions that have changed since are told, and not asked again",
    steps: [
      step("user", edit, refused("PERMISSIONS_STALE"), { answer: { status: 409 } }),
      step("user", edit, refused("PERMISSIONS_STALE")),
    ],
  },
  {
    name: "an issuer that does not answer is asked again at the next call",
    steps: [
      step("user", edit, refused("UNAVAILABLE"), { answer: "unreachable" }),
      step("user", edit, refused("UNAVAILABLE"), { answer: { status: 503 } }),
      step("user", edit, refused("UNAVAILABLE"), { answer: { status: 302 } }),
      step("user", edit, asEditor, { answer: signed([grant(editor)]) }),
    ],
  },
  {
    name: "of more than there is room for the longest unused is forgotten",
    capacity: 1,
    steps: [
      step("user", edit, asEditor, { answer: signed([grant(editor)]) }),
      step("user of version 8", edit, missing, {
        answer: signed([], { perm_ver: 8 }),
        asked: path(ids.principal, `&tenantId=${ids.tenant}&permVer=8`),
      }),
      step("user", edit, asEditor, { answer: signed([grant(editor)]) }),
    ],
  },
]

/** A rejected answer: the grants remain unknown. */
const refusal = (name: string, answer: SnapshotAnswer): SnapshotSequence => ({
  name: `not taken: ${name}`,
  steps: [step("user", edit, refused("UNAVAILABLE"), { answer })],
})
const changed = (name: string, change: Json): SnapshotSequence => refusal(name, signed([grant(editor)], change))
const withGrant = (name: string, change: Json): SnapshotSequence =>
  refusal(`a grant ${name}`, signed([grant(editor), grant(editor, change)]))
const signedAs = (key: typeof statementKey, typ: string, header: Json = {}): SnapshotAnswer => ({
  jws: jwt(key, typ, claims([grant(editor)]), header),
})

const refusals: readonly SnapshotSequence[] = [
  changed("an older version", { perm_ver: 6 }),
  changed("a newer version", { perm_ver: 8 }),
  changed("a version as text", { perm_ver: "7" }),
  changed("of somebody else", { sub: otherPrincipal }),
  changed("of another app", { app_id: otherApp }),
  changed("of another tenant", { tenant_id: otherTenant }),
  changed("of no tenant", { tenant_id: undefined }),
  changed("of a context", { context_id: context }),
  changed("of another issuer", { iss: "https://other.example" }),
  changed("from the future", { iat: now + 31 }),
  changed("without its roles", { roles: undefined }),
  changed("roles in an object", { roles: {} }),
  changed("without its grants", { grants: undefined }),
  changed("without its scopes", { scopes: undefined }),
  changed("scopes in a list", { scopes: [] }),
  changed("a scope with text", { scopes: { "notes.write": "notes.note.edit" } }),
  changed("a role without an id", { roles: [{ ...editor, id: "" }] }),
  changed("a role without a key", { roles: [{ ...editor, key: undefined }] }),
  changed("a role that may or may not be inherited", { roles: [{ ...editor, inheritable: undefined }] }),
  changed("a role that is inherited by a text", { roles: [{ ...editor, inheritable: "yes" }] }),
  changed("a role with permissions that are none", { roles: [{ ...editor, permissions: [1] }] }),
  withGrant("without a role", { role_id: undefined }),
  withGrant("of a tenant that is none", { tenant_id: "everywhere" }),
  withGrant("of a tenant of null", { tenant_id: null }),
  withGrant("of a context that is none", { context_id: ids.tenant }),
  withGrant("of a resource that is none", { resource: "all" }),
  withGrant("of a resource without an id", { resource: { type: "note" } }),
  withGrant("with an end that is text", { expires_at_ms: "never" }),
  withGrant("with an end of null", { expires_at_ms: null }),
  refusal("an access token", { jws: tokens.user ?? "" }),
  refusal("a statement of the revocation feed", signedAs(statementKey, "rev+jwt")),
  refusal("another algorithm", signedAs(statementKey, "perm+jwt", { alg: "none" })),
  refusal("a key that is for access tokens", signedAs(accessKey, "perm+jwt")),
  refusal("another key under the statements' name", signedAs(nextKey, "perm+jwt", { kid: "statement-1" })),
  refusal("a critical extension", signedAs(statementKey, "perm+jwt", { crit: ["exp"] })),
  refusal("no JWT", { jws: "gibberish" }),
]

export const snapshotVectors = () => ({
  now,
  issuer,
  audience,
  jwks: { keys: [accessKey.jwk] },
  statementJwks: { keys: [statementKey.jwk] },
  tokens,
  resources,
  sequences: [...decisions, ...keys, ...refusals],
})
