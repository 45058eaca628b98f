import { liveMembershipStatuses } from "@signet/kernel/administration/moves"
import type { People } from "@signet/kernel/identity/account-ports"
import { longestTokenMs } from "@signet/kernel/token/claims"
import type { Selectable } from "kysely"
import { grantFromRow } from "../admin/grants.ts"
import { endPats } from "../admin/principals.ts"
import { newestFirst, only } from "../page.ts"
import type { PrincipalTable } from "../schema.ts"
import { sessionRows } from "../session/sessions.ts"
import { at, type Database, run } from "../sql.ts"
import { delegationRows } from "../token/delegations.ts"
import { patRows } from "../token/pats.ts"
import { revocations } from "../token/revocations.ts"

type FoundRow = Pick<Selectable<PrincipalTable>, "id" | "kind" | "identity_id" | "status">

const liveTexts = liveMembershipStatuses.map((status) => `'${status}'`).join(", ")
// Materialized: PostgreSQL expects one identity in two hundred to match, and would read all principals by id instead.
const findText = (match: string) => `with found as materialized (
  select i.id from identity i where ${match} and i.status <> 'DELETED')
select p.id, p.kind, p.identity_id, p.status
from found join principal p on p.identity_id = found.id and p.kind = 'USER'
where p.status <> 'DELETED'
  and ($1::text is null or exists (select from membership m
    where m.principal_id = p.id and m.app_id = $1 and m.status in (${liveTexts})
      and ($2::text is null or m.tenant_id = $2) and ($3::text is null or m.context_id = $3)))
order by p.id limit $4`
const findByEmailText = findText("lower(i.primary_email) = lower($5)")
const findBySubjectText = findText(`i.id in (select a.identity_id from provider_account a
  where a.provider = $5 and a.subject = $6 and ($7::text is null or a.issuer = $7) and a.status <> 'UNLINKED')`)

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

    async find({ by, within }, limit) {
      const place = [within?.appId ?? null, within?.tenantId ?? null, within?.contextId ?? null]
      const rows =
        "email" in by
          ? await run<FoundRow>(db, findByEmailText, [...place, limit, by.email])
          : await run<FoundRow>(db, findBySubjectText, [...place, limit, by.provider, by.subject, by.issuer])
      return rows.map((row) => ({ id: row.id, kind: row.kind, identityId: row.identity_id, status: row.status }))
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
        sessions: (await newestFirst(sessions, page).execute()).map(sessionRows.fromRow),
        pats: (await newestFirst(pats, page).execute()).map(patRows.fromRow),
        grants: (await newestFirst(grants, page).execute()).map(grantFromRow),
        delegations: (await newestFirst(delegations, page).execute()).map(delegationRows.fromRow),
      }
    },
  }
}
