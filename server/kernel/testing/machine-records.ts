// Test data: one record of each kind for service accounts, for tests that change a field.
import { newId } from "../ids.ts"
import type {
  DelegationPolicy,
  Pat,
  ServiceAccount,
  ServiceKey,
  ServiceSecret,
  StandingDelegation,
} from "../machine/records.ts"
import { app, identity, principal } from "./records.ts"

const random = Uint8Array.from({ length: 10 }, (_, i) => i * 5)
const day = 86_400_000

export const pat: Pat = {
  id: newId("pat", 1, random),
  principalId: principal.id,
  identityId: identity.id,
  appId: app.id,
  tenantId: null,
  contextId: null,
  name: "backup",
  tokenHash: new Uint8Array(32).fill(3),
  last4: "Ab1z",
  allowedAudiences: ["svc-notes"],
  scopes: ["notes.read", "notes.write"],
  createdAtMs: 1_000,
  expiresAtMs: 1_000 + 90 * day,
  lastUsedAtMs: null,
  revokedAtMs: null,
  revokeReason: null,
}

const accountId = newId("sac", 1, random)

export const serviceAccount: ServiceAccount = {
  id: accountId,
  principalId: newId("prn", 2, random),
  appId: app.id,
  tenantId: null,
  name: "mailer",
  clientId: accountId,
  status: "ACTIVE",
  authMethods: ["client_secret_basic"],
  ownedAudiences: [],
  allowedAudiences: ["svc-notes"],
  scopes: ["notes.read"],
  defaultScopes: ["notes.read"],
  createdAtMs: 1_000,
}

export const serviceSecret: ServiceSecret = {
  id: newId("scr", 1, random),
  serviceAccountId: accountId,
  secretHash: new Uint8Array(32).fill(4),
  hint: "9xYz",
  createdAtMs: 1_000,
  expiresAtMs: 1_000 + 180 * day,
  lastUsedAtMs: null,
  revokedAtMs: null,
}

export const serviceKey: ServiceKey = {
  serviceAccountId: accountId,
  kid: "a-thumbprint",
  x: "x",
  y: "y",
  createdAtMs: 1_000,
  revokedAtMs: null,
}

export const delegationPolicy: DelegationPolicy = {
  id: newId("dpo", 1, random),
  appId: app.id,
  tenantId: null,
  actorPrincipalId: serviceAccount.principalId,
  audiences: ["svc-notes"],
  scopes: ["notes.read"],
  maxSeconds: 300,
  allowStanding: true,
  createdAtMs: 1_000,
  revokedAtMs: null,
}

export const delegation: StandingDelegation = {
  id: newId("dlg", 1, random),
  policyId: delegationPolicy.id,
  appId: app.id,
  tenantId: null,
  contextId: null,
  subjectPrincipalId: principal.id,
  actorPrincipalId: serviceAccount.principalId,
  audiences: ["svc-notes"],
  scopes: ["notes.read"],
  createdAtMs: 1_000,
  expiresAtMs: 1_000 + 30 * day,
  revokedAtMs: null,
}
