// Sign-in transactions: sealed and held by the client. The store keeps only used ones.
import { Refused } from "@signet/kernel/errors"
import type { TokenUse } from "@signet/kernel/identity/provider-ports"
import {
  formatTransaction,
  isServerNonce,
  nonceProblem,
  parseTransaction,
  type SignInTransaction,
  serverNonce,
  transactionSeconds,
} from "@signet/kernel/identity/sign-in-transaction"
import { transactionLabel } from "@signet/kernel/keys/sealed-columns"
import type { ProviderClient } from "@signet/kernel/records"
import { decode, encode } from "../../base64url.ts"
import type { Deps } from "../../deps.ts"
import type { Proof } from "./proof.ts"

type External = Extract<Proof, { is: "external" }>

export function startTransaction(
  deps: Pick<Deps, "secrets" | "random" | "clock">,
  client: ProviderClient,
  { deviceId, redirectUri }: { deviceId: string; redirectUri: string },
): { transaction: string; nonce: string; expiresAt: number } {
  if (redirectUri !== "" && !client.redirectUris.includes(redirectUri)) throw new Refused("REDIRECT_NOT_ALLOWED")
  const nonce = serverNonce(encode(deps.random.bytes(24)))
  const expiresAt = Math.floor(deps.clock.nowMs() / 1_000) + transactionSeconds
  const of = { nonce, appId: client.appId, clientId: client.id, deviceId, redirectUri, expiresAt }
  const sealed = deps.secrets.seal(transactionLabel, new TextEncoder().encode(formatTransaction(of)))
  return { transaction: encode(sealed), nonce, expiresAt }
}

/**
 * The nonce that the provider's token must contain.
 *
 * @throws Refused NONCE_MISMATCH for a server-issued nonce without its transaction, and for a transaction of another
 * app, provider client, device or redirect URI, or an expired one.
 */
export function expectedNonce(deps: Pick<Deps, "secrets" | "clock">, client: ProviderClient, proof: External): string {
  const { nonce, transaction, deviceId, credential } = proof
  if (transaction === "" && !isServerNonce(nonce)) return nonce
  const redirectUri = credential.is === "code" ? credential.redirectUri : ""
  const shown = { nonce, appId: client.appId, clientId: client.id, deviceId, redirectUri }
  const opened = openTransaction(deps, transaction)
  const problem = nonceProblem(opened, shown, Math.floor(deps.clock.nowMs() / 1_000))
  if (opened !== undefined && problem === undefined) return opened.nonce
  const message = `the sign-in transaction is missing, has expired or is for another sign-in: ${problem}`
  throw new Refused("NONCE_MISMATCH", { message, metadata: { field: problem ?? "transaction" } })
}

/** The single use of the proof's transaction; undefined if it has none. */
export function transactionUse(deps: Pick<Deps, "secrets">, proof: Proof): TokenUse | undefined {
  const opened = proof.is === "external" ? openTransaction(deps, proof.transaction) : undefined
  if (opened === undefined) return undefined
  const tokenHash = deps.secrets.digest(`${transactionLabel}|${opened.nonce}`)
  return { tokenHash, expiresAtMs: opened.expiresAt * 1_000 }
}

function openTransaction({ secrets }: Pick<Deps, "secrets">, text: string): SignInTransaction | undefined {
  const sealed = text === "" ? undefined : decode(text)
  const opened = sealed && secrets.open(transactionLabel, sealed)
  return opened && parseTransaction(new TextDecoder().decode(opened))
}
