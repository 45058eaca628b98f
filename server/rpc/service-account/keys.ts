// Public keys of services for private_key_jwt (RFC 7523).
import type { HandlerContext } from "@connectrpc/connect"
import { webTokenCrypto } from "@signet/guard/token-crypto"
import { Refused } from "@signet/kernel/errors"
import type { Secrets } from "@signet/kernel/keys/ports"
import type { ServiceKey } from "@signet/kernel/machine/records"
import { keyCredentialId, planKey } from "@signet/kernel/machine/service-account"
import { longestContextMs } from "@signet/kernel/token/context-claims"
import { encode } from "../base64url.ts"
import type { Deps } from "../deps.ts"
import { onAccount } from "./administer.ts"

/** @throws Refused INVALID_FIELD, CREDENTIAL_LIMIT, RESOURCE_UNRESOLVED, SCOPE_NOT_GRANTED */
export async function addKey(
  deps: Deps,
  context: HandlerContext,
  of: { accountId: string; x: string; y: string },
): Promise<ServiceKey> {
  const kid = thumbprint(deps.secrets, of.x, of.y)
  await requirePoint(kid, of.x, of.y)
  return onAccount(
    deps,
    context,
    of.accountId,
    async ({ tx, account, nowMs, record }) => {
      const keys = await tx.serviceAccounts.keys(account.id)
      const plan = planKey(keys, kid)
      switch (plan) {
        case "limit":
          return new Refused("CREDENTIAL_LIMIT")
        case "revoked":
          return notTaken("the key was revoked: register another one")
        case "there":
          return keys.find((key) => key.kid === kid) ?? notTaken("the key was not found")
        case "add": {
          const { x, y } = of
          const key = { serviceAccountId: account.id, kid, x, y, createdAtMs: nowMs, revokedAtMs: null }
          await tx.serviceAccounts.insertKey(key)
          await record("service_account.key_added", { type: "service_key", id: kid })
          return key
        }
      }
    },
    { take: "lock", gives: "credential" },
  )
}

/** @throws Refused NOT_FOUND, RESOURCE_UNRESOLVED */
export function revokeKey(deps: Deps, context: HandlerContext, of: { accountId: string; kid: string }): Promise<void> {
  return onAccount(deps, context, of.accountId, async ({ tx, account, nowMs, record }) => {
    const keys = await tx.serviceAccounts.keys(account.id)
    if (!keys.some(({ kid }) => kid === of.kid)) return new Refused("NOT_FOUND")
    if (!(await tx.serviceAccounts.revokeKey(account.id, of.kid, nowMs))) return undefined
    await tx.revocations.add([
      { kind: "CREDENTIAL", key: keyCredentialId(account.id, of.kid), expiresAtMs: nowMs + longestContextMs },
    ])
    await record("service_account.key_revoked", { type: "service_key", id: of.kid })
    return undefined
  })
}

/** The JWK thumbprint (RFC 7638): the required members in lexicographic order. */
export function thumbprint(secrets: Secrets, x: string, y: string): string {
  return encode(secrets.digest(JSON.stringify({ crv: "P-256", kty: "EC", x, y })))
}

async function requirePoint(kid: string, x: string, y: string): Promise<void> {
  try {
    await webTokenCrypto.importKey({ kid, x, y })
  } catch (cause) {
    throw notTaken("x and y are not a point of P-256", cause)
  }
}

const notTaken = (message: string, cause?: unknown): Refused =>
  new Refused("INVALID_FIELD", { message, metadata: { field: "x" }, ...(cause === undefined ? {} : { cause }) })
