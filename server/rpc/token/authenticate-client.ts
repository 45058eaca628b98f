// Who the client is. Unknown, unproven and disabled clients are refused by one answer, after the same statements: what
// is missing is looked up under an id that nothing has.
import type { TokenCrypto, VerifyKey } from "@signet/guard/token-crypto"
import type { AuthorityVersions } from "@signet/kernel/authz/versions"
import type { Refused } from "@signet/kernel/errors"
import { newId } from "@signet/kernel/ids"
import { keyCredentialId } from "@signet/kernel/machine/service-account"
import type { ServiceAccount, ServiceKey, ServiceSecret } from "@signet/kernel/machine-records"
import type { Tx } from "@signet/kernel/ports"
import type { App, Principal } from "@signet/kernel/records"
import { parseOpaque } from "@signet/kernel/token/opaque"
import { type Assertion, parseAssertion } from "./client-assertion.ts"
import type { ClientCredential } from "./client-credential.ts"
import type { TokenDeps } from "./deps.ts"
import { refusal } from "./refuse.ts"

/** A client that proved itself, and is active. */
export interface Client {
  account: ServiceAccount
  app: App
  principal: Principal
  /** Of the client in its app, read before what its tokens say. */
  versions: AuthorityVersions
  /** The secret's id, or that of the key: see keyCredentialId. */
  credentialId: string
}

const zeros = new Uint8Array(10)
const nobody = { account: newId("sac", 0, zeros), principal: newId("prn", 0, zeros), app: newId("app", 0, zeros) }

/** @returns Refused CLIENT_INVALID. Commit either way: a client's assertion is used up even if the grant is refused. */
export async function authenticateClient(
  deps: TokenDeps,
  tx: Tx,
  credential: Extract<ClientCredential, { is: "secret" | "assertion" }>,
  nowMs: number,
): Promise<Client | Refused> {
  const client =
    credential.is === "secret"
      ? await clientBySecret(deps, tx, credential, nowMs)
      : await clientByAssertion(deps, tx, credential, nowMs)
  return client ?? refusal("CLIENT_INVALID")
}

type SecretCredential = Extract<ClientCredential, { is: "secret" }>

async function clientBySecret(
  deps: TokenDeps,
  tx: Tx,
  credential: SecretCredential,
  nowMs: number,
): Promise<Client | undefined> {
  const secret = parseOpaque("sgsec_", credential.secret)
  if (secret === undefined || credential.clientId === "") return undefined
  const hashes = deps.secrets.hashes("service-secret", secret)
  const found = await lookUp(tx, credential.clientId)
  const secrets = await tx.serviceAccounts.secrets(found.account?.id ?? nobody.account)
  const match = matching(deps, secrets, hashes)
  if (!match || match.revokedAtMs !== null || match.expiresAtMs <= nowMs) return undefined
  const client = activeClient(found, credential.method, match.id)
  const isUseOld = match.lastUsedAtMs === null || nowMs - match.lastUsedAtMs >= 60_000
  if (client !== undefined && isUseOld) await tx.serviceAccounts.markSecretUsed(match.id, nowMs)
  return client
}

/** Compares with every secret there is, and with one where there is none, so that the time tells nothing. */
function matching(
  deps: TokenDeps,
  secrets: readonly ServiceSecret[],
  hashes: readonly Uint8Array[],
): ServiceSecret | undefined {
  const none = new Uint8Array(32)
  for (const hash of hashes) deps.secrets.equal(hash, none)
  return secrets.find((secret) => hashes.filter((hash) => deps.secrets.equal(hash, secret.secretHash)).length > 0)
}

type AssertionCredential = Extract<ClientCredential, { is: "assertion" }>

async function clientByAssertion(
  deps: TokenDeps,
  tx: Tx,
  credential: AssertionCredential,
  nowMs: number,
): Promise<Client | undefined> {
  const { issuer } = deps
  const assertion = parseAssertion(credential.assertion, { issuer, clientId: credential.clientId, nowMs })
  if (assertion === undefined) return undefined
  const found = await lookUp(tx, assertion.clientId)
  const keys = await tx.serviceAccounts.keys(found.account?.id ?? nobody.account)
  const live = keys.filter(({ kid, revokedAtMs }) => revokedAtMs === null && (assertion.kid ?? kid) === kid)
  const key = await signerOf(deps.crypto, live, assertion)
  const client = key && activeClient(found, "private_key_jwt", keyCredentialId(key.serviceAccountId, key.kid))
  if (client === undefined) return undefined
  const isFirst = await tx.assertionUses.use(assertion.clientId, assertion.jti, assertion.expiresAtMs)
  return isFirst ? client : undefined
}

/** A point of the curve (RFC 7515 appendix A.3) that no client has: verified against where there is no key. */
const nobodysKey = {
  kid: "nobody",
  x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
  y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
}

async function signerOf(
  crypto: TokenCrypto,
  keys: readonly ServiceKey[],
  { signature, signed }: Assertion,
): Promise<ServiceKey | undefined> {
  const isBy = async (key: { kid: string; x: string; y: string }): Promise<boolean> => {
    const imported: VerifyKey = await crypto.importKey(key)
    return imported.verify(signature, signed)
  }
  if (keys.length === 0) await isBy(nobodysKey)
  for (const key of keys) if (await isBy(key)) return key
  return undefined
}

interface Found {
  account: ServiceAccount | undefined
  app: App | undefined
  principal: Principal | undefined
  versions: AuthorityVersions
}

async function lookUp(tx: Tx, clientId: string): Promise<Found> {
  const account = await tx.serviceAccounts.findByClientId(clientId)
  const versions = await versionsOf(tx, account)
  const principal = await tx.identities.findPrincipal(account?.principalId ?? nobody.principal)
  const app = await tx.apps.findApp(account?.appId ?? nobody.app)
  return { account, app, principal, versions }
}

const versionsOf = (tx: Tx, account: ServiceAccount | undefined): Promise<AuthorityVersions> =>
  tx.authorities.find(account?.principalId ?? nobody.principal, account?.appId ?? nobody.app)

function activeClient(
  { account, app, principal, versions }: Found,
  method: ServiceAccount["authMethods"][number],
  credentialId: string,
): Client | undefined {
  if (account?.status !== "ACTIVE" || app?.status !== "ACTIVE" || principal?.status !== "ACTIVE") return undefined
  return account.authMethods.includes(method) ? { account, app, principal, versions, credentialId } : undefined
}

/** The service that a bearer or actor token is of, active now. The token itself was verified before. */
export async function clientOfToken(
  tx: Tx,
  of: { principalId: Principal["id"]; credentialId: string },
): Promise<Client | undefined> {
  const account = await tx.serviceAccounts.findByPrincipal(of.principalId)
  const versions = await versionsOf(tx, account)
  const principal = await tx.identities.findPrincipal(of.principalId)
  const app = await tx.apps.findApp(account?.appId ?? nobody.app)
  if (account?.status !== "ACTIVE" || app?.status !== "ACTIVE" || principal?.status !== "ACTIVE") return undefined
  return { account, app, principal, versions, credentialId: of.credentialId }
}
