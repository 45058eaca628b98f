import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { newId } from "@signet/kernel/ids"
import type { ServiceAccount } from "@signet/kernel/machine/records"
import { accountProblem } from "@signet/kernel/machine/service-account"
import type { Membership, Principal } from "@signet/kernel/records"
import type { CreateServiceAccountRequest } from "@signet/proto/auth/v1/service_account_service"
import type { UserContext } from "../../serving/call/call.ts"
import { sessionUserOutsideContexts } from "../../serving/call/call.ts"
import { factsOf } from "../admin/administer.ts"
import { auditEvent } from "../audit/audit.ts"
import type { Deps } from "../deps.ts"
import { limitWrite } from "../limit.ts"
import { authMethodsOf } from "./machine-shape.ts"

/** @throws Refused AUDIENCE_NOT_REGISTERED, AUDIENCE_TAKEN, INVALID_FIELD, SCOPE_NOT_GRANTED, CONTEXT_MISMATCH */
export async function createAccount(
  deps: Deps,
  context: HandlerContext,
  request: CreateServiceAccountRequest,
): Promise<ServiceAccount> {
  const administrator = sessionUserOutsideContexts(context)
  await limitWrite(deps, context)
  const { account, principal, membership } = newAccount(deps, administrator, request)
  const problem = await deps.store.transaction(async (tx) => {
    const app = await tx.apps.findApp(administrator.appId)
    if (app === undefined) return new Refused("TENANT_SUSPENDED")
    const grounds = { app, authAudience: deps.authAudience, makerScopes: administrator.scopes }
    const wrong = accountProblem(account, grounds)
    if (wrong !== undefined) return new Refused(wrong.reason, { metadata: { field: wrong.field } })
    if (!(await tx.serviceAccounts.insert(account, principal, membership))) {
      return new Refused("AUDIENCE_TAKEN", { metadata: { field: "owned_audiences" } })
    }
    await tx.audit.append(
      auditEvent(deps, context, account.createdAtMs, {
        ...factsOf(administrator),
        kind: "service_account.created",
        subjectPrincipalId: principal.id,
        target: { type: "service_account", id: account.id },
      }),
    )
    return undefined
  })
  if (problem !== undefined) throw problem
  return account
}

/** In the administrator's own app and tenant, whatever the request names. */
function newAccount(
  deps: Deps,
  { appId, tenantId }: UserContext,
  request: CreateServiceAccountRequest,
): { account: ServiceAccount; principal: Principal; membership: Membership } {
  const nowMs = deps.clock.nowMs()
  const id = newId("sac", nowMs, deps.random.bytes(10))
  const principal: Principal = {
    id: newId("prn", nowMs, deps.random.bytes(10)),
    kind: "SERVICE",
    identityId: null,
    status: "ACTIVE",
  }
  return {
    principal,
    membership: {
      id: newId("mem", nowMs, deps.random.bytes(10)),
      principalId: principal.id,
      appId,
      tenantId,
      contextId: null,
      status: "ACTIVE",
      profile: {},
      scopes: [],
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    },
    account: {
      id,
      principalId: principal.id,
      appId,
      tenantId,
      name: request.name,
      clientId: id,
      status: "ACTIVE",
      authMethods: authMethodsOf(request.authMethods),
      ownedAudiences: request.ownedAudiences,
      allowedAudiences: request.allowedAudiences,
      scopes: request.scopes,
      defaultScopes: request.defaultScopes,
      createdAtMs: nowMs,
    },
  }
}
