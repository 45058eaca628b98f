// Finds users by an address that a provider verified, or by a provider's subject.
import type { ServiceImpl } from "@connectrpc/connect"
import { isLiveMembership } from "@signet/kernel/administration/moves"
import { reachMismatch } from "@signet/kernel/authz/admin-reach"
import { Refused } from "@signet/kernel/errors"
import type { PersonSearch } from "@signet/kernel/identity/account-ports"
import { normalizeEmail } from "@signet/kernel/identity/first-login"
import type { Principal } from "@signet/kernel/records"
import type { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import type { FindUsersRequest } from "@signet/proto/auth/v1/users"
import type { Deps } from "../deps.ts"
import { providerOf } from "../parse.ts"
import { identityShape, membershipShape, principalShape, providerAccountShape } from "../shape.ts"
import { type AdminTransaction, administer } from "./administer.ts"
import { foundListPlace, placeOf } from "./found.ts"

const most = 20

export function users(deps: Deps): Pick<ServiceImpl<typeof AppAuthService>, "findUsers"> {
  return {
    findUsers: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const { tx, caller, isInstallation } = admin
        const isEverywhere = isInstallation && request.appId === ""
        const appId = request.appId === "" ? caller.appId : request.appId
        // The scope is checked before the look-up, so the answer depends only on members that the caller may see.
        const within = isEverywhere ? null : await foundListPlace(admin, { appId, tenantId: "", contextId: "" })
        const found = await tx.people.find({ by: searchOf(request), within }, most)
        const place = within ?? placeOf(caller)
        const nobody = { type: "app", id: place.appId }
        for (const subject of found.length === 0 ? [null] : found.map(({ id }) => id)) {
          const target = subject === null ? nobody : { type: "principal", id: subject }
          await admin.record("identity.looked_up", { place, target, subject })
        }
        return { users: await Promise.all(found.map((principal) => userOf(admin, principal, within?.appId ?? null))) }
      }),
  }
}

function searchOf({ by }: FindUsersRequest): PersonSearch["by"] {
  switch (by.case) {
    case "email": {
      const email = normalizeEmail(by.value)
      if (email !== null) return { email }
      throw new Refused("INVALID_FIELD", { message: "email must be an email address", metadata: { field: "email" } })
    }
    case "subject":
      return {
        provider: providerOf(by.value.provider),
        subject: by.value.subject,
        issuer: by.value.issuer === "" ? null : by.value.issuer,
      }
    case undefined:
      throw new Refused("INVALID_FIELD", { message: "email or subject is required", metadata: { field: "by" } })
  }
}

async function userOf({ tx, caller, isInstallation }: AdminTransaction, principal: Principal, appId: string | null) {
  const all = await tx.members.listOfPrincipal(principal.id)
  const memberships = all
    .filter((each) => isLiveMembership(each) && (appId === null || each.appId === appId))
    .filter((each) => reachMismatch(caller, isInstallation, each) === undefined)
    .map(membershipShape)
  const shown = { principal: principalShape(principal), memberships }
  const { identityId } = principal
  if (!isInstallation || identityId === null) return shown
  const identity = await tx.identities.findIdentity(identityId)
  const accounts = await tx.identities.findAccounts(identityId)
  return {
    ...shown,
    ...(identity && { identity: identityShape(identity) }),
    providerAccounts: accounts.map(providerAccountShape),
  }
}
