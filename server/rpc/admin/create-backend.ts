// Makes the service account of a messaging backend that runs elsewhere. The operator does so, because no administrator
// holds its scopes and could grant them.

import { transferScope } from "@signet/kernel/administration/scopes"
import { newId } from "@signet/kernel/ids"
import type { ServiceAccount } from "@signet/kernel/machine/records"
import { planRotation } from "@signet/kernel/machine/service-account"
import type { Tx } from "@signet/kernel/ports"
import type { App } from "@signet/kernel/records"
import { buildOpaque } from "@signet/kernel/token/opaque"
import { ownEvent } from "../audit/audit.ts"
import type { Deps } from "../deps.ts"

type CreateDeps = Pick<Deps, "store" | "secrets" | "random" | "clock" | "authAudience">

interface BackendRequest {
  readonly appId: App["id"]
  /** A display name. An active account of the app with this name gets one more secret. */
  readonly name: string
  /**
   * The audience of messaging's tokens. The account owns it, and may introspect them, unless it is the auth service's
   * own.
   */
  readonly messagingAudience: string
  /** Earlier secrets expire within a day; otherwise they keep their expiry. */
  readonly replaces: boolean
}

interface CreatedBackend {
  readonly clientId: string
  /** Shown once. */
  readonly clientSecret: string
  readonly expiresAtMs: number
}

/** The scopes of a messaging backend. */
export const backendScopes = ["auth.messaging.backend", "auth.revocations.read", "auth.introspect"] as const

const lifeDays = 365

/** The kind of account that the operator makes. */
interface Purpose {
  readonly scopes: readonly string[]
  /** The audience of the scopes and of the account's tokens. */
  readonly audience: string
  readonly ownedAudiences: readonly string[]
  readonly noun: string
  readonly route: string
}

/** @throws Error with a sentence for the operator. */
export function createMessagingBackend(deps: CreateDeps, asked: BackendRequest): Promise<CreatedBackend> {
  const { authAudience } = deps
  return createService(deps, asked, {
    scopes: backendScopes,
    audience: authAudience,
    ownedAudiences: asked.messagingAudience === authAudience ? [] : [asked.messagingAudience],
    noun: "messaging backend",
    route: "admin backend create",
  })
}

/** Makes the account that moves an app between backends. @throws Error with a sentence for the operator. */
export function createMessagingMover(deps: CreateDeps, asked: BackendRequest): Promise<CreatedBackend> {
  return createService(deps, asked, {
    scopes: [transferScope],
    audience: asked.messagingAudience,
    ownedAudiences: [],
    noun: "mover",
    route: "admin messaging account",
  })
}

function createService(deps: CreateDeps, asked: BackendRequest, purpose: Purpose): Promise<CreatedBackend> {
  return deps.store.transaction(async (tx) => {
    const app = await tx.administration.lockApp(asked.appId)
    if (app === undefined) throw new Error("No app has this id.")
    await addScopes(tx, app, purpose)
    const account =
      (await accountNamed(tx, app, asked.name, purpose)) ?? (await insertAccount(deps, tx, app, asked.name, purpose))
    return addSecret(deps, tx, account, asked.replaces, purpose)
  })
}

/** Adds the scopes to the app. They are no defaults, so a membership alone grants none of them. */
async function addScopes(tx: Tx, app: App, { scopes: keys, audience }: Purpose): Promise<void> {
  const missing = keys.filter((key) => app.scopes.every((scope) => scope.key !== key))
  if (missing.length === 0) return
  const scopes = missing.map((key) => ({ key, audience, isDefault: false }))
  await tx.apps.putApp({ ...app, scopes: [...app.scopes, ...scopes] })
}

const mostAccounts = 1_000

async function accountNamed(
  tx: Tx,
  app: App,
  name: string,
  { scopes, noun }: Purpose,
): Promise<ServiceAccount | undefined> {
  const accounts = await tx.serviceAccounts.list({ appId: app.id, tenantId: null }, [], {
    size: mostAccounts,
    before: null,
  })
  const found = accounts.find((one) => one.name === name && one.status === "ACTIVE")
  if (found !== undefined && !scopes.every((key) => found.scopes.includes(key))) {
    throw new Error(`The service account of this name is no ${noun}: use another name.`)
  }
  return found
}

async function insertAccount(
  deps: CreateDeps,
  tx: Tx,
  app: App,
  name: string,
  { scopes, audience, ownedAudiences, route }: Purpose,
): Promise<ServiceAccount> {
  const nowMs = deps.clock.nowMs()
  const id = newId("sac", nowMs, deps.random.bytes(10))
  const principalId = newId("prn", nowMs, deps.random.bytes(10))
  const account: ServiceAccount = {
    id,
    principalId,
    appId: app.id,
    tenantId: null,
    name,
    clientId: id,
    status: "ACTIVE",
    authMethods: ["client_secret_basic", "client_secret_post"],
    ownedAudiences,
    allowedAudiences: [audience],
    scopes,
    defaultScopes: [],
    createdAtMs: nowMs,
  }
  const principal = { id: principalId, kind: "SERVICE", identityId: null, status: "ACTIVE" } as const
  const place = { appId: app.id, tenantId: null, contextId: null }
  const isInserted = await tx.serviceAccounts.insert(account, principal, {
    ...place,
    id: newId("mem", nowMs, deps.random.bytes(10)),
    principalId,
    status: "ACTIVE",
    profile: {},
    scopes: [],
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  })
  if (!isInserted) throw new Error("Another service account owns messaging's audience.")
  await tx.audit.append(
    ownEvent(
      deps,
      nowMs,
      {
        kind: "service_account.created",
        appId: app.id,
        subjectPrincipalId: principalId,
        target: { type: "service_account", id },
      },
      route,
    ),
  )
  return account
}

async function addSecret(
  deps: CreateDeps,
  tx: Tx,
  { id, appId, clientId, principalId }: ServiceAccount,
  replaces: boolean,
  { route }: Purpose,
): Promise<CreatedBackend> {
  const nowMs = deps.clock.nowMs()
  const before = replaces ? await tx.serviceAccounts.secrets(id) : []
  const planned = planRotation(before, { lifeDays, overlap: undefined }, nowMs)
  if (planned === undefined)
    throw new Error("The account has 2 active secrets (the limit): revoke one, or wait until the older one expires.")
  for (const { secret, expiresAtMs } of planned.replaced) {
    await tx.serviceAccounts.shortenSecret(secret.id, expiresAtMs)
  }
  const clientSecret = buildOpaque("sgsec_", deps.random)
  const secretId = newId("scr", nowMs, deps.random.bytes(10))
  await tx.serviceAccounts.insertSecret({
    id: secretId,
    serviceAccountId: id,
    secretHash: deps.secrets.hash("service-secret", clientSecret),
    hint: clientSecret.slice(-4),
    createdAtMs: nowMs,
    expiresAtMs: planned.expiresAtMs,
    lastUsedAtMs: null,
    revokedAtMs: null,
  })
  const target = { type: "service_secret", id: secretId }
  const facts = { kind: "service_account.secret_added", appId, subjectPrincipalId: principalId, target } as const
  await tx.audit.append(ownEvent(deps, nowMs, facts, route))
  return { clientId, clientSecret, expiresAtMs: planned.expiresAtMs }
}
