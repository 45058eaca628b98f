// Test data: one record of each kind of administration, for tests that change a field.
import type { Context, Grant, Invitation, Permission, Role, Tenant } from "../administration/records.ts"
import { newId } from "../ids.ts"
import { app, principal } from "./records.ts"

const random = Uint8Array.from({ length: 10 }, (_, i) => i * 11)
const inApp = { appId: app.id, tenantId: null, contextId: null }

export const tenant: Tenant = {
  id: newId("ten", 1, random),
  appId: app.id,
  name: "Acme",
  status: "ACTIVE",
  createdAtMs: 1,
  updatedAtMs: 1,
}

export const context: Context = {
  id: newId("ctx", 1, random),
  appId: app.id,
  tenantId: null,
  type: "project",
  name: "Apollo",
  status: "ACTIVE",
  createdAtMs: 1,
  updatedAtMs: 1,
}

export const permission: Permission = {
  id: newId("prm", 1, random),
  appId: app.id,
  key: "notes.note.read",
  description: "Reads notes.",
  createdAtMs: 1,
}

export const role: Role = {
  id: newId("rol", 1, random),
  appId: app.id,
  tenantId: null,
  key: "reader",
  description: "Reads.",
  permissions: [permission.key],
  inheritable: true,
  assignableAt: ["APP", "TENANT", "CONTEXT", "RESOURCE"],
  status: "ACTIVE",
  createdAtMs: 1,
  updatedAtMs: 1,
}

export const grant: Grant = {
  id: newId("grt", 1, random),
  principalId: principal.id,
  roleId: role.id,
  ...inApp,
  resource: null,
  expiresAtMs: null,
  grantedBy: principal.id,
  reason: "asked for",
  status: "ACTIVE",
  createdAtMs: 1,
  revokedAtMs: null,
}

export const invitation: Invitation = {
  id: newId("inv", 1, random),
  ...inApp,
  principalId: null,
  codeHash: new Uint8Array(32).fill(3),
  scopes: [],
  invitedBy: principal.id,
  status: "PENDING",
  createdAtMs: 1,
  expiresAtMs: 1 + 7 * 86_400_000,
  answeredAtMs: null,
  membershipId: null,
}
