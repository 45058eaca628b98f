// Inserts service accounts, personal access tokens and policies into a test server's store as an administrator would.
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"
import { newId } from "@signet/kernel/ids"
import type { DelegationPolicy, Pat, ServiceAccount, ServiceSecret } from "@signet/kernel/machine/records"
import type { Membership } from "@signet/kernel/records"
import { buildOpaque } from "@signet/kernel/token/opaque"
import { openPlace } from "./places.ts"
import type { TestServer } from "./server.ts"

const day = 86_400_000

export interface Machine {
  readonly account: ServiceAccount
  readonly secretRecord: ServiceSecret
  /** The secret itself. */
  readonly secret: string
  readonly privateKey: KeyObject
  readonly kid: string
}

type Makes = Pick<TestServer, "app" | "deps" | "secrets">
const random = () => new Uint8Array(randomBytes(10))

/** An active service account of the app with one secret and one key, with changed audiences. */
export async function addMachine(server: Makes, change: Partial<ServiceAccount> = {}): Promise<Machine> {
  const nowMs = server.deps.clock.nowMs()
  const principalId = change.principalId ?? newId("prn", nowMs, random())
  const id = newId("sac", nowMs, random())
  const account: ServiceAccount = {
    id,
    principalId,
    appId: server.app.id,
    tenantId: null,
    name: "machine",
    clientId: id,
    status: "ACTIVE",
    authMethods: ["client_secret_basic", "client_secret_post", "private_key_jwt"],
    ownedAudiences: [],
    allowedAudiences: ["svc-notes"],
    scopes: ["notes.read", "notes.write"],
    defaultScopes: ["notes.read"],
    createdAtMs: nowMs,
    ...change,
  }
  const secret = buildOpaque("sgsec_", server.deps.random)
  const secretRecord: ServiceSecret = {
    id: newId("scr", nowMs, random()),
    serviceAccountId: account.id,
    secretHash: server.secrets.hash("service-secret", secret),
    hint: secret.slice(-4),
    createdAtMs: nowMs,
    expiresAtMs: nowMs + 180 * day,
    lastUsedAtMs: null,
    revokedAtMs: null,
  }
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const { x = "", y = "" } = publicKey.export({ format: "jwk" })
  const kid = randomBytes(16).toString("base64url")
  const membership: Membership = {
    id: newId("mem", nowMs, random()),
    principalId,
    appId: account.appId,
    tenantId: account.tenantId,
    contextId: null,
    status: "ACTIVE",
    profile: {},
    scopes: [],
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }
  await openPlace(server.deps.store, { appId: account.appId, tenantId: account.tenantId, contextId: null })
  const added = await server.deps.store.transaction(async (tx) => {
    const isNew = await tx.serviceAccounts.insert(
      account,
      { id: principalId, kind: "SERVICE", identityId: null, status: "ACTIVE" },
      membership,
    )
    if (!isNew) return false
    await tx.serviceAccounts.insertSecret(secretRecord)
    await tx.serviceAccounts.insertKey({
      serviceAccountId: account.id,
      kid,
      x,
      y,
      createdAtMs: nowMs,
      revokedAtMs: null,
    })
    return true
  })
  if (!added) throw new Error("an owned audience is taken")
  return { account, secretRecord, secret, privateKey, kid }
}

/** A second app of the server with the first one's audiences and scopes. */
export async function addOtherApp({ app, deps }: Makes): Promise<TestServer["app"]> {
  const other = { ...app, id: newId("app", deps.clock.nowMs(), random()) }
  await deps.store.transaction((tx) => tx.apps.putApp(other))
  return other
}

/** A policy that lets the machine act on behalf of the app's users at svc-notes. */
export async function addPolicy(
  server: Makes,
  { account }: Machine,
  change: Partial<DelegationPolicy> = {},
): Promise<DelegationPolicy> {
  const nowMs = server.deps.clock.nowMs()
  const policy: DelegationPolicy = {
    id: newId("dpo", nowMs, random()),
    appId: account.appId,
    tenantId: null,
    actorPrincipalId: account.principalId,
    audiences: ["svc-notes"],
    scopes: ["notes.read", "notes.write"],
    maxSeconds: 300,
    allowStanding: true,
    createdAtMs: nowMs,
    revokedAtMs: null,
    ...change,
  }
  await server.deps.store.transaction((tx) => tx.delegations.insertPolicy(policy))
  return policy
}

/** A personal access token of a signed-in user. */
export async function addPat(
  server: Makes,
  user: Pick<Pat, "principalId" | "identityId">,
  change: Partial<Pat> = {},
): Promise<{ pat: Pat; token: string }> {
  const nowMs = server.deps.clock.nowMs()
  const token = buildOpaque("sgpat_", server.deps.random)
  const pat: Pat = {
    ...user,
    id: newId("pat", nowMs, random()),
    appId: server.app.id,
    tenantId: null,
    contextId: null,
    name: "laptop",
    tokenHash: server.secrets.hash("pat", token),
    last4: token.slice(-4),
    allowedAudiences: ["svc-notes"],
    scopes: ["notes.read"],
    createdAtMs: nowMs,
    expiresAtMs: nowMs + 90 * day,
    lastUsedAtMs: null,
    revokedAtMs: null,
    revokeReason: null,
    ...change,
  }
  await server.deps.store.transaction((tx) => tx.pats.insert(pat))
  return { pat, token }
}

/** The token endpoint's response to a form. */
export interface FormAnswer {
  status: number
  headers: Headers
  body: Record<string, unknown>
}

/** Posts a form unchanged. */
export async function postForm(
  url: string,
  form: Record<string, string> | string,
  headers: Record<string, string> = {},
): Promise<FormAnswer> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: typeof form === "string" ? form : new URLSearchParams(form).toString(),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === "" ? {} : JSON.parse(text) }
}

/** An Authorization header by RFC 6749 section 2.3.1. */
export const basic = ({ account, secret }: Pick<Machine, "account" | "secret">): { authorization: string } => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(account.clientId)}:${encodeURIComponent(secret)}`).toString("base64")}`,
})

/** A client's assertion (RFC 7523), with changes. */
export function assertion(
  { account, privateKey, kid }: Pick<Machine, "account" | "privateKey" | "kid">,
  change: { claims?: Record<string, unknown>; header?: Record<string, unknown>; key?: KeyObject; nowMs?: number } = {},
): Record<string, string> {
  const iat = Math.floor((change.nowMs ?? Date.now()) / 1_000)
  const claims = {
    iss: account.clientId,
    sub: account.clientId,
    aud: "https://auth.example",
    jti: `jti-${Math.random()}`,
    iat,
    exp: iat + 60,
    ...change.claims,
  }
  const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString("base64url")
  const signed = `${encode({ alg: "ES256", kid, ...change.header })}.${encode(claims)}`
  const signature = sign("sha256", Buffer.from(signed), { key: change.key ?? privateKey, dsaEncoding: "ieee-p1363" })
  return {
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: `${signed}.${signature.toString("base64url")}`,
  }
}
