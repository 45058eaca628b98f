// Notifications from providers. Every notification with a valid signature gets the same response: a different one would
// reveal who has an account.
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import { applyNotification } from "@signet/kernel/identity/provider-notification"
import type { ProviderNotification } from "@signet/kernel/identity/provider-ports"
import type { Tx } from "@signet/kernel/ports"
import type { ProviderNotificationService } from "@signet/proto/auth/v1/provider_notification_service"
import { auditEvent, ofSession } from "../audit/audit.ts"
import type { Deps } from "../deps.ts"
import { limit, networkOf } from "../limit.ts"

export function providerNotificationService(deps: Deps): ServiceImpl<typeof ProviderNotificationService> {
  return {
    async notifyIdpB({ payload }, context) {
      await limit(deps, context, "notification", { ip: networkOf(context) })
      const clients = await deps.store.transaction((tx) => tx.administration.findProviderClients("IDP_B"))
      const notification = await deps.notificationReaders.IDP_B.read(clients, payload)
      await deps.store.transaction((tx) => applyOnce(deps, context, tx, notification))
      return {}
    },
  }
}

async function applyOnce(
  deps: Deps,
  context: HandlerContext,
  tx: Tx,
  notification: ProviderNotification,
): Promise<void> {
  const { id, issuer, providerTenant, subject, change, expiresAtMs } = notification
  const nowMs = deps.clock.nowMs()
  const replayKey = deps.secrets.digest(JSON.stringify(["idp-b-notification", issuer, providerTenant, id]))
  if (!(await tx.idTokenUses.use(replayKey, expiresAtMs))) return
  const found = await tx.identities.findAccount({ provider: "IDP_B", issuer, subject, providerTenant })
  if (found === undefined) return
  // Locks in the order of a sign-in. A concurrent sign-in either commits first, and its session is ended below, or runs
  // afterwards and links the account again.
  await tx.accounts.lockIdentity(found.identityId)
  const account = await tx.accounts.lockAccount(found.id)
  if (account === undefined) return
  const changed = applyNotification(account, change)
  if (changed === undefined) return
  await tx.accounts.updateAccount(changed.account)
  const facts = {
    kind: changed.isEnded ? "provider_account.revoked" : "provider_account.updated",
    subjectIdentityId: changed.account.identityId,
    target: { type: "provider_account", id: account.id },
  } as const
  await tx.audit.append(auditEvent(deps, context, nowMs, facts))
  if (!changed.isEnded) return
  for (const sessionId of await tx.endings.endByAccount(account.id, "provider_account_revoked", nowMs)) {
    const session = await tx.sessions.find(sessionId)
    if (session === undefined) continue
    const ended = { kind: "session.revoked", ...ofSession(session), actorPrincipalId: null } as const
    await tx.audit.append(auditEvent(deps, context, nowMs, ended))
  }
}
