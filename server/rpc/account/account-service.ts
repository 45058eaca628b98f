import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { ServiceImpl } from "@connectrpc/connect"
import type { AccountService } from "@signet/proto/auth/v1/account_service"
import { sessionUserOf } from "../../serving/call/call.ts"
import { grantShape } from "../admin/grants.ts"
import { delegationShape } from "../delegation/delegation-shape.ts"
import type { Deps } from "../deps.ts"
import { mostCounted } from "../page.ts"
import { patShape } from "../service-account/machine-shape.ts"
import {
  credentialsShape,
  identityShape,
  membershipShape,
  principalShape,
  providerAccountShape,
  sessionShape,
} from "../shape.ts"
import { exportIdentity, requestDeletion } from "./identity.ts"
import { acceptInvitation, declineInvitation } from "./invitations.ts"
import { linkAccount } from "./link.ts"
import { leaveMembership, requestMembership } from "./memberships.ts"
import { unlinkAccount } from "./unlink.ts"

export function accountService(deps: Deps): ServiceImpl<typeof AccountService> {
  return {
    async linkProviderAccount(request, context) {
      return { providerAccount: providerAccountShape(await linkAccount(deps, context, request)) }
    },

    async listProviderAccounts(_, context) {
      const { identityId, principal } = sessionUserOf(context)
      const { accounts, counts } = await deps.store.transaction(async (tx) => ({
        accounts: await tx.identities.findAccounts(identityId),
        counts: await tx.principals.countCredentials(principal.id, deps.clock.nowMs(), mostCounted),
      }))
      return { providerAccounts: accounts.map(providerAccountShape), credentials: credentialsShape(counts) }
    },

    async unlinkProviderAccount({ providerAccountId }, context) {
      return { providerAccount: providerAccountShape(await unlinkAccount(deps, context, providerAccountId)) }
    },

    async acceptInvitation({ code }, context) {
      return { membership: membershipShape(await acceptInvitation(deps, context, code)) }
    },

    async declineInvitation({ code }, context) {
      await declineInvitation(deps, context, code)
      return {}
    },

    async requestMembership(request, context) {
      return { membership: membershipShape(await requestMembership(deps, context, request)) }
    },

    async leaveMembership({ membershipId }, context) {
      return { membership: membershipShape(await leaveMembership(deps, context, membershipId)) }
    },

    async exportIdentity(_, context) {
      const found = await exportIdentity(deps, context)
      const { nowMs } = found
      return {
        identity: identityShape(found.identity),
        principal: principalShape(found.principal),
        providerAccounts: found.accounts.map(providerAccountShape),
        memberships: found.memberships.map(membershipShape),
        sessions: found.sessions.map((session) => sessionShape(session, nowMs, sessionUserOf(context).sessionId)),
        pats: found.pats.map((pat) => patShape(pat, nowMs)),
        grants: found.grants.map((grant) => grantShape(grant, found.roleKeys.get(grant.roleId), nowMs)),
        delegations: found.delegations.map(delegationShape),
        exportedAt: timestampFromMs(nowMs),
      }
    },

    async requestIdentityDeletion(_, context) {
      const identity = await requestDeletion(deps, context)
      return {
        identity: identityShape(identity),
        ...(identity.deletesAtMs !== null && { deletesAt: timestampFromMs(identity.deletesAtMs) }),
      }
    },
  }
}
