// Who the client is. Unknown, unproven and disabled clients are refused by one answer, after the same statement.
import type { TokenCrypto, VerifyKey } from "@signet/guard/token-crypto"
import type { Refused } from "@signet/kernel/errors"
import type { ClientCalls, ClientFacts } from "@signet/kernel/machine/ports"
import type { ServiceAccount } from "@signet/kernel/machine/records"
import { keyCredentialId } from "@signet/kernel/machine/service-account"
import type { Tx } from "@signet/kernel/ports"
import type { Principal } from "@signet/kernel/records"
import { parseOpaque } from "@signet/kernel/token/opaque"
import { type Assertion, parseAssertion } from "./client-assertion.ts"
import type { ClientCredential } from "./client-credential.ts"
import type { TokenDeps } from "./deps.ts"
import { clientRefusal } from "./refuse.ts"

/** A client that proved itself, and is active. */
export interface Client extends Pick<ClientFacts, "account" | "versions" | "memberships" | "place"> {
  app: NonNullable<ClientFacts["app"]>
  /** The secret's id, or that of the key: see keyCredentialId. */
  credentialId: string
}

/** What a proof that is good leaves behind. */
type Marks = Pick<ClientCalls, "markSecretUsed" | "useAssertion">

/** Who a credential says it is of, and what it proves that with. */
export type Claim =
  | { is: "secret"; clientId: string; method: ServiceAccount["authMethods"][number]; hashes: readonly Uint8Array[] }
  | { is: "assertion"; clientId: string; assertion: Assertion }

/** What a proof is verified with. */
type Means = Pick<TokenDeps, "issuer" | "secrets" | "crypto">

type Proof = Extract<ClientCredential, { is: "secret" | "assertion" }>

/** Undefined for what cannot prove anything, which costs no look-up. */
export function claimOf(deps: Means, credential: Proof, nowMs: number): Claim | undefined {
  if (credential.is === "secret") {
    const { clientId, method } = credential
    const secret = parseOpaque("sgsec_", credential.secret)
    if (secret === undefined || clientId === "") return undefined
    return { is: "secret", clientId, method, hashes: deps.secrets.hashes("service-secret", secret) }
  }
  const expected = { issuer: deps.issuer, clientId: credential.clientId, nowMs }
  const assertion = parseAssertion(credential.assertion, expected)
  return assertion && { is: "assertion", clientId: assertion.clientId, assertion }
}

/**
 * @param facts Of the client that the claim names; undefined where there is none, which takes the same work.
 * @returns Refused CLIENT_INVALID. A client's assertion is used up even if the grant is refused.
 */
export async function prove(
  deps: Means,
  claim: Claim,
  facts: ClientFacts | undefined,
  marks: Marks,
  nowMs: number,
): Promise<Client | Refused> {
  const client =
    claim.is === "secret"
      ? await clientBySecret(deps, claim, facts, marks, nowMs)
      : await clientByAssertion(deps, claim, facts, marks)
  return client ?? clientRefusal(facts)
}

/** @returns Refused CLIENT_INVALID. Commit either way: a client's assertion is used up even if the grant is refused. */
export async function authenticateClient(
  deps: Means,
  tx: Tx,
  credential: Proof,
  nowMs: number,
): Promise<Client | Refused> {
  const claim = claimOf(deps, credential, nowMs)
  if (claim === undefined) return clientRefusal()
  const { findClient, markSecretUsed } = tx.serviceAccounts
  const facts = await findClient({ who: claim, nowMs })
  return prove(deps, claim, facts, { markSecretUsed, useAssertion: tx.assertionUses.use }, nowMs)
}

async function clientBySecret(
  deps: Means,
  { hashes, method }: Extract<Claim, { is: "secret" }>,
  facts: ClientFacts | undefined,
  marks: Marks,
  nowMs: number,
): Promise<Client | undefined> {
  const match = matching(deps, facts?.secrets ?? [], hashes)
  if (match === undefined) return undefined
  const client = activeClient(facts, method, match.id)
  const isUseOld = match.lastUsedAtMs === null || nowMs - match.lastUsedAtMs >= 60_000
  if (client !== undefined && isUseOld) await marks.markSecretUsed(match.id, nowMs)
  return client
}

/** Compares with every secret there is, and with nobody's where there is none, so that the time tells nothing. */
function matching(
  deps: Means,
  secrets: ClientFacts["secrets"],
  hashes: readonly Uint8Array[],
): ClientFacts["secrets"][number] | undefined {
  const isBy = ({ secretHash }: { readonly secretHash: Uint8Array }) =>
    hashes.filter((hash) => deps.secrets.equal(hash, secretHash)).length > 0
  if (secrets.length === 0) isBy(nobodysSecret)
  return secrets.find(isBy)
}

const nobodysSecret = { secretHash: new Uint8Array(32) }

async function clientByAssertion(
  deps: Means,
  { clientId, assertion }: Extract<Claim, { is: "assertion" }>,
  facts: ClientFacts | undefined,
  marks: Marks,
): Promise<Client | undefined> {
  const named = (facts?.keys ?? []).filter(({ kid }) => (assertion.kid ?? kid) === kid)
  const key = await signerOf(deps.crypto, named, assertion)
  const id = facts?.account.id
  const client = key && id && activeClient(facts, "private_key_jwt", keyCredentialId(id, key.kid))
  if (client === undefined) return undefined
  return (await marks.useAssertion(clientId, assertion.jti, assertion.expiresAtMs)) ? client : undefined
}

/** A point of the curve (RFC 7515 appendix A.3) that no client has: verified against where there is no key. */
const nobodysKey = {
  kid: "nobody",
  x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
  y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
}

async function signerOf(
  crypto: TokenCrypto,
  keys: ClientFacts["keys"],
  { signature, signed }: Assertion,
): Promise<ClientFacts["keys"][number] | undefined> {
  const isBy = async (key: { kid: string; x: string; y: string }): Promise<boolean> => {
    const imported: VerifyKey = await crypto.importKey(key)
    return imported.verify(signature, signed)
  }
  if (keys.length === 0) await isBy(nobodysKey)
  for (const key of keys) if (await isBy(key)) return key
  return undefined
}

function activeClient(
  facts: ClientFacts | undefined,
  method: ServiceAccount["authMethods"][number],
  credentialId: string,
): Client | undefined {
  return facts?.account.authMethods.includes(method) ? active(facts, credentialId) : undefined
}

function active(facts: ClientFacts | undefined, credentialId: string): Client | undefined {
  if (facts === undefined) return undefined
  const { account, app, versions, memberships, place } = facts
  if (account.status !== "ACTIVE" || app?.status !== "ACTIVE" || facts.principal !== "ACTIVE") return undefined
  return { account, app, versions, memberships, place, credentialId }
}

/** The service that a bearer or actor token is of, active now. The token itself was verified before. */
export async function clientOfToken(
  find: ClientCalls["find"],
  of: { principalId: Principal["id"]; credentialId: string },
  nowMs: number,
): Promise<Client | undefined> {
  return active(await find({ who: of, nowMs }), of.credentialId)
}
