// Secrets of services: shown once, and stored as a keyed hash.
import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { newId } from "@signet/kernel/ids"
import type { ServiceAccount, ServiceSecret } from "@signet/kernel/machine/records"
import { planRotation, planSecret } from "@signet/kernel/machine/service-account"
import type { Tx } from "@signet/kernel/ports"
import { longestContextMs } from "@signet/kernel/token/context-claims"
import { buildOpaque } from "@signet/kernel/token/opaque"
import type { Deps } from "../deps.ts"
import { onAccount } from "./administer.ts"

interface ShownSecret {
  /** `sgsec_…`: shown only in this answer. */
  secret: string
  kept: ServiceSecret
}

/** @throws Refused CREDENTIAL_LIMIT, RESOURCE_UNRESOLVED, SCOPE_NOT_GRANTED */
export function addSecret(
  deps: Deps,
  context: HandlerContext,
  of: { accountId: string; lifeDays: number },
): Promise<ShownSecret> {
  return onAccount(
    deps,
    context,
    of.accountId,
    async ({ tx, account, nowMs, record }) => {
      const planned = planSecret(await tx.serviceAccounts.secrets(account.id), of.lifeDays, nowMs)
      if (planned === undefined) return new Refused("CREDENTIAL_LIMIT")
      const shown = newSecret(deps, account, nowMs, planned.expiresAtMs)
      await tx.serviceAccounts.insertSecret(shown.kept)
      await record("service_account.secret_added", targetOf(shown.kept))
      return shown
    },
    { take: "lock", gives: "credential" },
  )
}

/**
 * @param of.overlap Milliseconds for which the replaced secrets stay valid; undefined for the default.
 * @throws Refused CREDENTIAL_LIMIT, RESOURCE_UNRESOLVED, SCOPE_NOT_GRANTED
 */
export function rotateSecret(
  deps: Deps,
  context: HandlerContext,
  of: { accountId: string; lifeDays: number; overlap: number | undefined },
): Promise<ShownSecret & { replaced: ServiceSecret[] }> {
  return onAccount(
    deps,
    context,
    of.accountId,
    async ({ tx, account, nowMs, record }) => {
      const planned = planRotation(await tx.serviceAccounts.secrets(account.id), of, nowMs)
      if (planned === undefined) return new Refused("CREDENTIAL_LIMIT")
      const replaced: ServiceSecret[] = []
      for (const { secret, expiresAtMs } of planned.replaced) {
        if (expiresAtMs > nowMs) {
          await tx.serviceAccounts.shortenSecret(secret.id, expiresAtMs)
          replaced.push({ ...secret, expiresAtMs })
        } else {
          await endSecret(tx, secret, nowMs)
          replaced.push({ ...secret, revokedAtMs: nowMs })
        }
      }
      const shown = newSecret(deps, account, nowMs, planned.expiresAtMs)
      await tx.serviceAccounts.insertSecret(shown.kept)
      await record("service_account.secret_rotated", targetOf(shown.kept))
      return { ...shown, replaced }
    },
    { take: "lock", gives: "credential" },
  )
}

/** @throws Refused NOT_FOUND, RESOURCE_UNRESOLVED */
export function revokeSecret(
  deps: Deps,
  context: HandlerContext,
  of: { accountId: string; secretId: string },
): Promise<void> {
  return onAccount(deps, context, of.accountId, async ({ tx, account, nowMs, record }) => {
    const secrets = await tx.serviceAccounts.secrets(account.id)
    const secret = secrets.find(({ id }) => id === of.secretId)
    if (secret === undefined) return new Refused("NOT_FOUND")
    if (await endSecret(tx, secret, nowMs)) await record("service_account.secret_revoked", targetOf(secret))
    return undefined
  })
}

/** Revokes the secret, and the access tokens and context tokens issued with it. */
async function endSecret(tx: Tx, { id }: ServiceSecret, nowMs: number): Promise<boolean> {
  if (!(await tx.serviceAccounts.revokeSecret(id, nowMs))) return false
  await tx.revocations.add([{ kind: "CREDENTIAL", key: id, expiresAtMs: nowMs + longestContextMs }])
  return true
}

function newSecret(deps: Deps, account: ServiceAccount, nowMs: number, expiresAtMs: number): ShownSecret {
  const secret = buildOpaque("sgsec_", deps.random)
  return {
    secret,
    kept: {
      id: newId("scr", nowMs, deps.random.bytes(10)),
      serviceAccountId: account.id,
      secretHash: deps.secrets.hash("service-secret", secret),
      hint: secret.slice(-4),
      createdAtMs: nowMs,
      expiresAtMs,
      lastUsedAtMs: null,
      revokedAtMs: null,
    },
  }
}

const targetOf = ({ id }: ServiceSecret) => ({ type: "service_secret", id })
