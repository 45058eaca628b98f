import type { ServiceImpl } from "@connectrpc/connect"
import { kAuth } from "@signet/guard/connect"
import { Refused } from "@signet/kernel/errors"
import { parseOpaque } from "@signet/kernel/token/opaque"
import type { AuthService } from "@signet/proto/auth/v1/auth_service"
import { sessionIdOf, sessionUserOf, userOf } from "../../serving/call/call.ts"
import { auditEvent, ofSession } from "../audit/audit.ts"
import type { Deps } from "../deps.ts"
import { identityShape, membershipShape, principalShape, providerAccountShape, sessionShape } from "../shape.ts"
import { checkCookieOrigin, clearCookie, presentedToken } from "./cookie.ts"
import { issueTokens } from "./issue-tokens.ts"
import { refresh } from "./refresh.ts"
import { signInMethods } from "./sign-in/methods.ts"

export function authService(deps: Deps): ServiceImpl<typeof AuthService> {
  return {
    ...signInMethods(deps),

    async refresh(request, context) {
      const presented = presentedToken(context, request)
      const { retryKey, audiences } = request
      const refreshed = await refresh(deps, context, presented && { ...presented, retryKey, audiences })
      const { session } = refreshed
      return {
        ...issueTokens(deps, context, refreshed),
        session: sessionShape(session, deps.clock.nowMs(), session.id),
      }
    },

    async logout(request, context) {
      const presented = presentedToken(context, request)
      const auth = context.values.get(kAuth)
      if (presented === undefined && auth?.sessionId == null) throw new Refused("NO_CREDENTIAL")
      const nowMs = deps.clock.nowMs()
      const token = presented && parseOpaque("sgrt_", presented.token)
      await deps.store.transaction(async (tx) => {
        const hashes = token === undefined ? [] : deps.secrets.hashes("refresh-token", token)
        // An unknown refresh token ends no session. The caller's own session ends all the same.
        const session =
          (presented && (await tx.sessions.lockByRefreshToken(hashes))) ??
          (auth?.sessionId ? await tx.sessions.lock(auth.sessionId) : undefined)
        if (!session) return
        if (session.cookieMode && presented && session.id !== auth?.sessionId) {
          const app = await tx.apps.findApp(session.appId)
          if (app) checkCookieOrigin(context, app)
        }
        if (!(await tx.sessions.end(session.id, "REVOKED", "logout", nowMs))) return
        await tx.audit.append(auditEvent(deps, context, nowMs, { kind: "session.revoked", ...ofSession(session) }))
      })
      if (presented?.cookieAppId) clearCookie(context, presented.cookieAppId)
      return {}
    },

    async logoutAll(request, context) {
      const user = sessionUserOf(context)
      const nowMs = deps.clock.nowMs()
      const except = request.exceptCurrent ? sessionIdOf(context) : null
      const ended = await deps.store.transaction(async (tx) => {
        const ids = await tx.sessions.endAll(user.identityId, except, "logout_all", nowMs)
        for (const id of ids) {
          // The event names the session's own app, which may differ from the caller's, so that administrators of that
          // app find it.
          const session = await tx.sessions.find(id)
          if (session === undefined) continue
          const facts = { kind: "session.revoked", ...ofSession(session) } as const
          await tx.audit.append(auditEvent(deps, context, nowMs, facts))
        }
        return ids
      })
      return { revokedSessions: ended.length }
    },

    async me(_, context) {
      const user = userOf(context)
      const nowMs = deps.clock.nowMs()
      const { identity, principal, memberships, accounts, session } = await deps.store.transaction(async (tx) => ({
        identity: await tx.identities.findIdentity(user.identityId),
        principal: await tx.identities.findPrincipal(user.principal.id),
        memberships: await tx.identities.findMemberships(user.principal.id, user.appId),
        accounts: await tx.identities.findAccounts(user.identityId),
        session: user.sessionId === null ? undefined : await tx.sessions.find(user.sessionId),
      }))
      return {
        ...(identity && { identity: identityShape(identity) }),
        ...(principal && { principal: principalShape(principal) }),
        memberships: memberships.map(membershipShape),
        ...(session && { session: sessionShape(session, nowMs, user.sessionId) }),
        providerAccounts: accounts.map(providerAccountShape),
      }
    },
  }
}
