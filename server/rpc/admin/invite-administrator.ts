// Invites administrators in the development profile. No call reaches this code.
import { deviceScopes } from "@signet/kernel/administration/scopes"
import { type AppId, newId, type PrincipalId } from "@signet/kernel/ids"
import { buildOpaque } from "@signet/kernel/token/opaque"
import { ownEvent } from "../audit/audit.ts"
import { type CreateDeps, insertPerson, installation, scopes } from "./create-administrator.ts"

const granted = [...scopes, ...deviceScopes]
const hourMs = 3_600_000
const route = "admin invite"

/** An invitation's code, and the app that it is for. */
interface AdministratorInvitation {
  readonly appId: AppId
  readonly code: string
}

/**
 * Returns a function that invites a person to an app with all of the app's administrative scopes. Its inviter is an
 * administrator of the installation, made once per process.
 *
 * @returns Undefined for an unknown app. Without an app the invitation is to the installation's own.
 */
export function createAdministratorInvitations(
  deps: CreateDeps,
): (appId?: AppId) => Promise<AdministratorInvitation | undefined> {
  let inviter: PrincipalId | undefined
  return async (appId) => {
    const nowMs = deps.clock.nowMs()
    const code = buildOpaque("sginv_", deps.random)
    return deps.store.transaction(async (tx) => {
      const own = await installation(deps, tx, { another: true, nowMs })
      const app = appId === undefined ? own : await tx.apps.findApp(appId)
      if (own === undefined || app === undefined) return undefined
      inviter ??= (await insertPerson(deps, tx, { app: own, name: "Developer", nowMs })).principal.id
      const id = newId("inv", nowMs, deps.random.bytes(10))
      await tx.invitations.insert({
        ...{ id, appId: app.id, tenantId: null, contextId: null, principalId: null },
        codeHash: deps.secrets.hash("invitation", code),
        scopes: app.scopes.map(({ key }) => key).filter((key) => granted.includes(key)),
        invitedBy: inviter,
        status: "PENDING",
        createdAtMs: nowMs,
        expiresAtMs: nowMs + hourMs,
        answeredAtMs: null,
        membershipId: null,
      })
      const facts = { kind: "membership.invited", appId: app.id, target: { type: "invitation", id } } as const
      await tx.audit.append(ownEvent(deps, nowMs, facts, route))
      return { appId: app.id, code }
    })
  }
}
