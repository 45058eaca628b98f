// Authenticates clients. Unknown, unauthenticated and disabled clients get the same refusal after the same statement.
import type { TokenCrypto, VerifyKey } from "@signet/guard/token-crypto"
import { Refused } from "@signet/kernel/errors"
import type { ClientCalls, ClientFacts, TaggedClient } from "@signet/kernel/machine/ports"
import type { ServiceAccount } from "@signet/kernel/machine/records"
import { keyCredentialId } from "@signet/kernel/machine/service-account"
import type { Tx } from "@signet/kernel/ports"
import type { Principal } from "@signet/kernel/records"
import { parseOpaque } from "@signet/kernel/token/opaque"
import { type Assertion, parseAssertion } from "./client-assertion.ts"
import type { ClientCredential } from "./client-credential.ts"
import type { TokenDeps } from "./deps.ts"
import { clientRefusal } from "./refuse.ts"

/** An authenticated, active client. */
export interface Client extends Pick<ClientFacts, "account" | "versions" | "memberships" | "place"> {
  app: NonNullable<ClientFacts["app"]>
  /** The id of the secret, or of the key: see keyCredentialId. */
  credentialId: string
}

/** The records that an accepted proof writes. */
type Marks = Pick<ClientCalls, "markSecretUsed" | "useAssertion">

/** The client that a credential names, and its proof. */
export type Claim =
  | { is: "secret"; clientId: string; method: ServiceAccount["authMethods"][number]; hashes: readonly Uint8Array[] }
  | { is: "assertion"; clientId: string; assertion: Assertion }

/** The dependencies of the verification. */
type Means = Pick<TokenDeps, "issuer" | "secrets" | "crypto">

type Proof = Extract<ClientCredential, { is: "secret" | "assertion" }>

/** Undefined for a credential that proves nothing, without a look-up. */
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
 * Verifies the proof of a client.
 *
 * @param facts The client that the claim names; undefined for an unknown one, which takes the same work.
 * @returns Refused CLIENT_INVALID. An accepted assertion is used up even if the grant is refused.
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

/**
 * Verifies a secret with facts that this process remembers. Undefined if that is not possible: for a wrong secret, and
 * for one whose use must be recorded, which requires current facts.
 */
export async function proveKnown(
  deps: Means,
  claim: Claim,
  known: TaggedClient,
  nowMs: number,
): Promise<Client | undefined> {
  let isUseNew = false
  const markSecretUsed = async () => {
    isUseNew = true
  }
  const client = await prove(deps, claim, known.client, { markSecretUsed, useAssertion: async () => false }, nowMs)
  return client instanceof Refused || isUseNew ? undefined : client
}

/**
 * @returns Refused CLIENT_INVALID. Commit either way: an accepted assertion is used up even if the grant is refused.
 */
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

/** Compares with every secret of the client, or with a dummy, so that the duration reveals nothing. */
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

/** A point of the curve (RFC 7515 appendix A.3) that is no client's key. Verification uses it for an unknown key. */
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

/** The active service of a verified bearer or actor token. */
export async function clientOfToken(
  find: ClientCalls["find"],
  of: { principalId: Principal["id"]; credentialId: string },
  nowMs: number,
): Promise<Client | undefined> {
  return active(await find({ who: of, nowMs }), of.credentialId)
}
