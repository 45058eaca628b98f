// The public keys with which services sign envelopes, and their certificates.
import type { HandlerContext } from "@connectrpc/connect"
import { proofBytes } from "@signet/guard/mailbox/payload"
import { webTokenCrypto } from "@signet/guard/token-crypto"
import { Refused } from "@signet/kernel/errors"
import { parseId, type ServiceAccountId } from "@signet/kernel/ids"
import {
  buildCertificateClaims,
  certificateSeconds,
  longestCertificateMs,
} from "@signet/kernel/machine/envelope-certificate"
import { planEnvelopeKey, postable } from "@signet/kernel/machine/envelope-key"
import type { EnvelopeKey, ServiceAccount } from "@signet/kernel/machine/records"
import type { Tx } from "@signet/kernel/ports"
import { callerOf } from "../../serving/call/call.ts"
import type { Deps } from "../deps.ts"
import { limit } from "../limit.ts"
import { onAccount } from "./administer.ts"
import { thumbprint } from "./keys.ts"

interface NewEnvelopeKey {
  readonly accountId: string
  readonly x: string
  readonly y: string
  readonly mailboxes: readonly string[]
  readonly proof: Uint8Array
}

/** @throws Refused INVALID_FIELD, ALREADY_EXISTS, CREDENTIAL_LIMIT, RESOURCE_UNRESOLVED, SCOPE_NOT_GRANTED */
export async function addEnvelopeKey(deps: Deps, context: HandlerContext, of: NewEnvelopeKey): Promise<EnvelopeKey> {
  const kid = thumbprint(deps.secrets, of.x, of.y)
  await requireProof(kid, of)
  return onAccount(
    deps,
    context,
    of.accountId,
    async ({ tx, account, nowMs, record }) => {
      const { x, y, mailboxes } = of
      if (postable(account, mailboxes, deps.authAudience).length < mailboxes.length) {
        return notTaken("mailboxes", "the account may not post to one of these")
      }
      const asked = { serviceAccountId: account.id, mailboxes }
      const known = await tx.envelopeKeys.find(kid)
      const own = await tx.envelopeKeys.list(account.id)
      switch (planEnvelopeKey({ own, known }, asked)) {
        case "limit":
          return new Refused("CREDENTIAL_LIMIT")
        case "revoked":
          return notTaken("x", "the key was revoked: register another one")
        case "taken":
          return new Refused("ALREADY_EXISTS")
        case "there":
          return known ?? new Refused("ALREADY_EXISTS")
        case "add": {
          const key = { ...asked, kid, x, y, createdAtMs: nowMs, revokedAtMs: null }
          // Another account may have inserted the key first.
          if (!(await tx.envelopeKeys.insert(key))) return new Refused("ALREADY_EXISTS")
          await record("service_account.envelope_key_added", { type: "envelope_key", id: kid })
          return key
        }
      }
    },
    { take: "lock", gives: "credential" },
  )
}

/** @throws Refused NOT_FOUND, RESOURCE_UNRESOLVED */
export function revokeEnvelopeKey(
  deps: Deps,
  context: HandlerContext,
  of: { accountId: string; kid: string },
): Promise<void> {
  return onAccount(deps, context, of.accountId, async ({ tx, account, nowMs, record }) => {
    const key = await tx.envelopeKeys.find(of.kid)
    if (key?.serviceAccountId !== account.id) return new Refused("NOT_FOUND")
    if (!(await tx.envelopeKeys.revoke(of.kid, nowMs))) return undefined
    await tx.revocations.add([{ kind: "CREDENTIAL", key: of.kid, expiresAtMs: nowMs + longestCertificateMs }])
    await record("service_account.envelope_key_revoked", { type: "envelope_key", id: of.kid })
    return undefined
  })
}

/** @throws Refused NOT_FOUND, alike for another app's key, a revoked one and a missing one. */
export async function envelopeCertificate(
  deps: Deps,
  context: HandlerContext,
  kid: string,
): Promise<{ certificate: string; expiresAtMs: number }> {
  const caller = callerOf(context)
  await limit(deps, context, "introspect", { caller: caller.principal.id })
  const found = await deps.store.transaction((tx) => liveKey(tx, kid))
  if (found === undefined || found.account.appId !== caller.appId) throw new Refused("NOT_FOUND")
  const { key, account } = found
  const nowSeconds = Math.floor(deps.clock.nowMs() / 1_000)
  const mailboxes = postable(account, key.mailboxes, deps.authAudience)
  const claims = buildCertificateClaims({ issuer: deps.issuer, account, key, mailboxes, nowSeconds })
  const expiresAtMs = (nowSeconds + certificateSeconds) * 1_000
  return { certificate: deps.keys.sign("ekc+jwt", claims), expiresAtMs }
}

/** The app's status needs no check here: the guard refuses every caller of an app that is not active. */
async function liveKey(tx: Tx, kid: string): Promise<{ key: EnvelopeKey; account: ServiceAccount } | undefined> {
  const key = await tx.envelopeKeys.find(kid)
  if (key === undefined || key.revokedAtMs !== null) return undefined
  const account = await tx.serviceAccounts.find(key.serviceAccountId)
  if (account?.status !== "ACTIVE") return undefined
  const principal = await tx.identities.findPrincipal(account.principalId)
  return principal?.status === "ACTIVE" ? { key, account } : undefined
}

/**
 * Verifies the proof of possession. It covers the account's id, so nobody registers a key with another account's proof.
 */
async function requireProof(kid: string, { accountId, x, y, proof }: NewEnvelopeKey): Promise<void> {
  const id: ServiceAccountId | undefined = parseId("sac", accountId)
  const key = await Promise.resolve(webTokenCrypto.importKey({ kid, x, y })).catch((cause: unknown) => {
    throw notTaken("x", "x and y are not a point of P-256", cause)
  })
  const isProven = id !== undefined && (await key.verify(new Uint8Array(proof), proofBytes(id)))
  if (!isProven) throw notTaken("proof", "the proof is not this key's for this account")
}

const notTaken = (field: string, message: string, cause?: unknown): Refused =>
  new Refused("INVALID_FIELD", { message, metadata: { field }, ...(cause === undefined ? {} : { cause }) })
