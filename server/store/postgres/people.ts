import type { People } from "@signet/kernel/account-ports"
import { longestTokenMs } from "@signet/kernel/token/claims"
import { delegationFromRow } from "./delegations.ts"
import { grantFromRow } from "./grants.ts"
import { newestFirst, only } from "./page.ts"
import { patFromRow } from "./pats.ts"
import { endPats } from "./principals.ts"
import { revocations } from "./revocations.ts"
import { sessionFromRow } from "./sessions.ts"
import { at, type Database } from "./sql.ts"

export function people(db: Database): People {
  return {
    async insert(identity, { id, kind, identityId, status }) {
      await db
        .insertInto("identity")
        .values({
          id: identity.id,
          status: identity.status,
          primary_email: identity.primaryEmail,
          deletes_at: null,
          created_at: at(identity.createdAtMs),
          updated_at: at(identity.updatedAtMs),
        })
        .execute()
      await db.insertInto("principal").values({ id, kind, identity_id: identityId, status }).execute()
    },

    async endPats(id, nowMs) {
      const ended = await endPats(db, id, nowMs)
      const expiresAtMs = nowMs + longestTokenMs
      await revocations(db).add(ended.map((key) => ({ kind: "CREDENTIAL", key, expiresAtMs })))
      return ended
    },

    async records(identityId, principalId, limit) {
      const page = { size: limit, before: null }
      const ofPrincipal = only("principal_id", principalId)
      const sessions = db.selectFrom("session").selectAll().where(only("identity_id", identityId))
      const pats = db.selectFrom("pat").selectAll().where(ofPrincipal)
      const grants = db.selectFrom("role_grant").selectAll().where(ofPrincipal)
      const delegations = db.selectFrom("delegation").selectAll().where(only("subject_principal_id", principalId))
      return {
        sessions: (await newestFirst(sessions, page).execute()).map(sessionFromRow),
        pats: (await newestFirst(pats, page).execute()).map(patFromRow),
        grants: (await newestFirst(grants, page).execute()).map(grantFromRow),
        delegations: (await newestFirst(delegations, page).execute()).map(delegationFromRow),
      }
    },
  }
}
