// Principals and provider accounts, which belong to no single app. Only administrators of the installation may call.
import { timestampMs } from "@bufbuild/protobuf/wkt"
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import { accountMoves, type Move, principalMoves } from "@signet/kernel/administration/moves"
import type { AuditKind } from "@signet/kernel/audit/event"
import { Refused } from "@signet/kernel/errors"
import { isLockTime } from "@signet/kernel/identity/principal"
import { type PrincipalId, parseId } from "@signet/kernel/ids"
import type { Principal, PrincipalLock, ProviderAccount } from "@signet/kernel/records"
import type { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import type { LockPrincipalRequest } from "@signet/proto/auth/v1/principals"
import type { Deps } from "../deps.ts"
import { mostCounted } from "../page.ts"
import { credentialsShape, identityShape, principalShape, providerAccountShape } from "../shape.ts"
import { type AdminTransaction, administer, requireInstallation, unresolved } from "./administer.ts"
import { given, isSame, moved } from "./outcome.ts"

type Methods =
  | "getPrincipal"
  | "lockPrincipal"
  | "unlockPrincipal"
  | "suspendPrincipal"
  | "resumePrincipal"
  | "deactivatePrincipal"
  | "reactivatePrincipal"
  | "blockProviderAccount"
  | "unblockProviderAccount"

export function principals(deps: Deps): Pick<ServiceImpl<typeof AppAuthService>, Methods> {
  return {
    getPrincipal: (request, context) =>
      administer(deps, context, "read", async (admin) => {
        requireInstallation(admin)
        const { identities } = admin.tx
        const id = parseId("prn", request.principalId)
        const principal = id && (await identities.findPrincipal(id))
        if (principal === undefined) throw unresolved()
        const { identityId } = principal
        const identity = identityId && (await identities.findIdentity(identityId))
        const accounts = identityId ? await identities.findAccounts(identityId) : []
        const counts = await admin.tx.principals.countCredentials(principal.id, admin.nowMs, mostCounted)
        return {
          principal: principalShape(principal),
          ...(identity ? { identity: identityShape(identity) } : {}),
          providerAccounts: accounts.map(providerAccountShape),
          credentials: credentialsShape(counts),
        }
      }),

    lockPrincipal: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const lock = lockOf(request, admin.nowMs)
        const principal = await lockRow(admin, request.principalId)
        const next = moved<Principal["status"], Principal>(principal, principalMoves.lock)
        if (next === undefined && isSame(principal.lock ?? {}, lock)) return { principal: principalShape(principal) }
        if (!(await admin.tx.principals.lockUntil(principal.id, lock, admin.nowMs))) throw new Refused("STATE_CONFLICT")
        await recordMove(admin, "principal.locked", principal.id)
        return { principal: principalShape({ ...principal, status: "LOCKED", lock }) }
      }),
    unlockPrincipal: (request, context) =>
      movePrincipal(deps, context, request.principalId, "principal.unlocked", ({ tx, nowMs }, { id }) =>
        tx.principals.unlock(id, nowMs),
      ),
    suspendPrincipal: (request, context) =>
      movePrincipal(deps, context, request.principalId, "principal.suspended", ({ tx, nowMs }, { id }) =>
        tx.principals.end(id, "SUSPENDED", nowMs),
      ),
    resumePrincipal: (request, context) =>
      movePrincipal(deps, context, request.principalId, "principal.resumed", ({ tx, nowMs }, { id }) =>
        tx.principals.resume(id, nowMs),
      ),
    deactivatePrincipal: (request, context) =>
      movePrincipal(deps, context, request.principalId, "principal.deactivated", ({ tx, nowMs }, { id }) =>
        tx.principals.end(id, "DEACTIVATED", nowMs),
      ),
    reactivatePrincipal: (request, context) =>
      movePrincipal(deps, context, request.principalId, "principal.reactivated", ({ tx, nowMs }, { id }) =>
        tx.principals.reactivate(id, nowMs),
      ),

    blockProviderAccount: (request, context) =>
      moveAccount(deps, context, request.providerAccountId, "provider_account.blocked", accountMoves.block),
    unblockProviderAccount: (request, context) =>
      moveAccount(deps, context, request.providerAccountId, "provider_account.unblocked", accountMoves.unblock),
  }
}

const moves = {
  "principal.unlocked": principalMoves.unlock,
  "principal.suspended": principalMoves.suspend,
  "principal.resumed": principalMoves.resume,
  "principal.deactivated": principalMoves.deactivate,
  "principal.reactivated": principalMoves.reactivate,
} as const satisfies Partial<Record<AuditKind, Move<Principal["status"]>>>

/** @param apply Returns false when the store refuses the move, for example because the time for it has passed. */
function movePrincipal(
  deps: Deps,
  context: HandlerContext,
  idText: string,
  kind: keyof typeof moves,
  apply: (admin: AdminTransaction, principal: Principal) => Promise<boolean>,
) {
  return administer(deps, context, "write", async (admin) => {
    const principal = await lockRow(admin, idText)
    const next = moved<Principal["status"], Principal>(principal, moves[kind])
    if (next === undefined) return { principal: principalShape(principal) }
    if (!(await apply(admin, principal))) throw new Refused("STATE_CONFLICT")
    await recordMove(admin, kind, principal.id)
    const { lock: _, ...unlocked } = next
    return { principal: principalShape(unlocked) }
  })
}

/** @throws Refused RESOURCE_UNRESOLVED */
async function lockRow(admin: AdminTransaction, idText: string): Promise<Principal> {
  requireInstallation(admin)
  const id = parseId("prn", idText)
  const principal = id && (await admin.tx.principals.lock(id))
  if (principal === undefined) throw unresolved()
  return principal
}

const recordMove = (admin: AdminTransaction, kind: AuditKind, id: PrincipalId) =>
  admin.record(kind, { place: admin.caller, target: { type: "principal", id }, subject: id })

/** @throws Refused INVALID_FIELD */
function lockOf({ lockExpiresAt, reason }: LockPrincipalRequest, nowMs: number): PrincipalLock {
  const expiresAtMs = timestampMs(given(lockExpiresAt, "lock_expires_at"))
  if (isLockTime(expiresAtMs, nowMs)) return { expiresAtMs, reason }
  const message = "lock_expires_at must be in the future and at most 30 days from now"
  throw new Refused("INVALID_FIELD", { message, metadata: { field: "lock_expires_at" } })
}

function moveAccount(
  deps: Deps,
  context: HandlerContext,
  idText: string,
  kind: "provider_account.blocked" | "provider_account.unblocked",
  move: Move<ProviderAccount["status"]>,
) {
  return administer(deps, context, "write", async (admin) => {
    requireInstallation(admin)
    const { tx, nowMs, caller } = admin
    const id = parseId("pac", idText)
    const account = id && (await tx.accounts.lockAccount(id))
    if (account === undefined) throw unresolved()
    const next = moved(account, move)
    if (next === undefined) return { providerAccount: providerAccountShape(account) }
    await tx.accounts.updateAccount(next)
    if (next.status === "BLOCKED") await tx.endings.endByAccount(account.id, kind, nowMs)
    const user = await tx.identities.findUserPrincipal(account.identityId)
    const target = { type: "provider_account", id: account.id }
    await admin.record(kind, { place: caller, target, subject: user?.id ?? null })
    return { providerAccount: providerAccountShape(next) }
  })
}
