// Makes administrators from the operator's command line. No call reaches this code.
import { defaultSettings } from "@signet/kernel/administration/app"
import { administrationScopes } from "@signet/kernel/administration/scopes"
import { newId } from "@signet/kernel/ids"
import type { Pat } from "@signet/kernel/machine/records"
import type { Tx } from "@signet/kernel/ports"
import type { App, Identity, Membership, Principal } from "@signet/kernel/records"
import { buildOpaque } from "@signet/kernel/token/opaque"
import { ownEvent } from "../audit/audit.ts"
import type { Deps } from "../deps.ts"

export type CreateDeps = Pick<Deps, "store" | "secrets" | "random" | "clock" | "authAudience">

interface AdministratorRequest {
  /** A display name. */
  readonly name: string
  /** Lifetime of the token in hours, 1 to 720. */
  readonly hours: number
  /** Allows the call although an administrator exists. */
  readonly another: boolean
}

/** Every administrative scope. */
export const scopes = [
  ...administrationScopes,
  "auth.service_accounts.read",
  "auth.service_accounts.write",
  "auth.delegation.write",
]

const hourMs = 3_600_000
const route = "admin create"

/**
 * Makes an administrator of the installation, and the installation's app if it is missing.
 *
 * @returns A personal access token, which is shown once; undefined if an administrator exists and `another` is false.
 */
export async function createAdministrator(
  deps: CreateDeps,
  { name, hours, another }: AdministratorRequest,
): Promise<{ pat: string; expiresAtMs: number } | undefined> {
  const nowMs = deps.clock.nowMs()
  const expiresAtMs = nowMs + hours * hourMs
  const pat = buildOpaque("sgpat_", deps.random)
  const isMade = await deps.store.transaction(async (tx) => {
    const app = await installation(deps, tx, { another, nowMs })
    if (app === undefined) return false
    const { identity, principal } = await insertPerson(deps, tx, { app, name, nowMs })
    const made: Pat = {
      id: newId("pat", nowMs, deps.random.bytes(10)),
      principalId: principal.id,
      identityId: identity.id,
      appId: app.id,
      tenantId: null,
      contextId: null,
      name,
      tokenHash: deps.secrets.hash("pat", pat),
      last4: pat.slice(-4),
      allowedAudiences: [deps.authAudience],
      scopes,
      createdAtMs: nowMs,
      expiresAtMs,
      lastUsedAtMs: null,
      revokedAtMs: null,
      revokeReason: null,
    }
    await tx.pats.insert(made)
    const about = { appId: app.id, subjectPrincipalId: principal.id, subjectIdentityId: identity.id }
    for (const [kind, type, id] of [
      ["identity.created", "identity", identity.id],
      ["admin.created", "principal", principal.id],
      ["pat.created", "pat", made.id],
    ] as const) {
      await tx.audit.append(ownEvent(deps, nowMs, { ...about, kind, target: { type, id } }, route))
    }
    return true
  })
  return isMade ? { pat, expiresAtMs } : undefined
}

/** The installation's app; undefined if it exists and `another` is false. */
export async function installation(
  deps: CreateDeps,
  tx: Tx,
  { another, nowMs }: { another: boolean; nowMs: number },
): Promise<App | undefined> {
  const found = await tx.administration.findInstallation()
  if (found !== undefined) return another ? found : undefined
  const app: App = {
    id: newId("app", nowMs, deps.random.bytes(10)),
    name: "Installation",
    status: "ACTIVE",
    audiences: [],
    scopes: scopes.map((key) => ({ key, audience: deps.authAudience, isDefault: false })),
    settings: {
      ...defaultSettings,
      signupEnabled: false,
      allowedOrigins: [],
      allowedRedirectUris: [],
      requireSameDevice: false,
      managesIdentity: true,
    },
    isInstallation: true,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }
  // Of two concurrent calls, one inserts the app. The other has waited for it and finds the app.
  if (!(await tx.administration.insertApp(app))) return installation(deps, tx, { another, nowMs })
  const facts = { kind: "app.created", appId: app.id, target: { type: "app", id: app.id } } as const
  await tx.audit.append(ownEvent(deps, nowMs, facts, route))
  return app
}

export async function insertPerson(
  deps: CreateDeps,
  tx: Tx,
  { app, name, nowMs }: { app: App; name: string; nowMs: number },
): Promise<{ identity: Identity; principal: Principal }> {
  const identity: Identity = {
    id: newId("idn", nowMs, deps.random.bytes(10)),
    status: "ACTIVE",
    primaryEmail: null,
    deletesAtMs: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }
  const principal: Principal = {
    id: newId("prn", nowMs, deps.random.bytes(10)),
    kind: "USER",
    identityId: identity.id,
    status: "ACTIVE",
  }
  const membership: Membership = {
    id: newId("mem", nowMs, deps.random.bytes(10)),
    principalId: principal.id,
    appId: app.id,
    tenantId: null,
    contextId: null,
    status: "ACTIVE",
    profile: name === "" ? {} : { name },
    scopes,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }
  await tx.people.insert(identity, principal)
  await tx.identities.insertMembership(membership)
  return { identity, principal }
}
