import type { Delegations } from "@signet/kernel/machine/ports"
import type { DelegationPolicy, StandingDelegation } from "@signet/kernel/machine/records"
import type { Selectable } from "kysely"
import type { DelegationPolicyTable, DelegationTable } from "../machine/machine-schema.ts"
import { isAfterCursor, newestFirst } from "../page.ts"
import { instant, rowMapping } from "../row-mapping.ts"
import { at, type Database, run } from "../sql.ts"

export const delegationRows = rowMapping<StandingDelegation, DelegationTable>({
  id: "id",
  policyId: "policy_id",
  appId: "app_id",
  tenantId: "tenant_id",
  contextId: "context_id",
  subjectPrincipalId: "subject_principal_id",
  actorPrincipalId: "actor_principal_id",
  audiences: "audiences",
  scopes: "scopes",
  createdAtMs: instant("created_at"),
  expiresAtMs: instant("expires_at"),
  revokedAtMs: instant("revoked_at"),
})

const policyRows = rowMapping<DelegationPolicy, DelegationPolicyTable>({
  id: "id",
  appId: "app_id",
  tenantId: "tenant_id",
  actorPrincipalId: "actor_principal_id",
  audiences: "audiences",
  scopes: "scopes",
  maxSeconds: "max_seconds",
  allowStanding: "allow_standing",
  createdAtMs: instant("created_at"),
  revokedAtMs: instant("revoked_at"),
})

const policiesText = `select * from delegation_policy
where actor_principal_id = $1 and app_id = $2 and revoked_at is null order by id`
const delegationText = "select * from delegation where id = $1"
// Each policy reads at most one page from its index, so that the cost does not grow with the delegations.
const ofPoliciesText = (isAfter: string): string => `select d.* from delegation_policy p cross join lateral (
  select * from delegation
  where policy_id = p.id and revoked_at is null and expires_at > $3 and ${isAfter}
  order by created_at desc, id desc limit $4) d
where p.app_id = $1 and coalesce(p.tenant_id, '') = $2 and p.revoked_at is null
order by d.created_at desc, d.id desc limit $4`
const ofPoliciesFirstText = ofPoliciesText("true")
const ofPoliciesAfterText = ofPoliciesText("(created_at, id) < ($5, $6)")

export function delegations(db: Database): Delegations {
  return {
    ...standing(db),

    async insertPolicy(policy) {
      await db.insertInto("delegation_policy").values(policyRows.toRow(policy)).execute()
    },

    async findPolicy(id) {
      const row = await db.selectFrom("delegation_policy").selectAll().where("id", "=", id).executeTakeFirst()
      return row && policyRows.fromRow(row)
    },

    async lockPolicy(id) {
      const query = db.selectFrom("delegation_policy").selectAll().where("id", "=", id).forUpdate()
      const row = await query.executeTakeFirst()
      return row && policyRows.fromRow(row)
    },

    async findPolicies(actor, appId) {
      return (await run<Selectable<DelegationPolicyTable>>(db, policiesText, [actor, appId])).map(policyRows.fromRow)
    },

    async listPolicies(appId, tenantId, { size, before }) {
      const rows = await db
        .selectFrom("delegation_policy")
        .selectAll()
        .where("app_id", "=", appId)
        .where("tenant_id", tenantId === null ? "is" : "=", tenantId)
        .where(isAfterCursor(before))
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(size)
        .execute()
      return rows.map(policyRows.fromRow)
    },

    async revokePolicy(id, nowMs) {
      const revoked = await db
        .updateTable("delegation_policy")
        .set({ revoked_at: at(nowMs) })
        .where("id", "=", id)
        .where("revoked_at", "is", null)
        .returning("id")
        .execute()
      return revoked.length === 1
    },
  }
}

type Standing = Pick<
  Delegations,
  "insertDelegation" | "findDelegation" | "listDelegations" | "listOfPolicy" | "listOfPolicies" | "revokeDelegation"
>

function standing(db: Database): Standing {
  return {
    async insertDelegation(delegation) {
      await db.insertInto("delegation").values(delegationRows.toRow(delegation)).execute()
    },

    async findDelegation(id) {
      const [row] = await run<Selectable<DelegationTable>>(db, delegationText, [id])
      return row && delegationRows.fromRow(row)
    },

    async listDelegations(subject, appId, { size, before }) {
      const rows = await db
        .selectFrom("delegation")
        .selectAll()
        .where("subject_principal_id", "=", subject)
        .where("app_id", "=", appId)
        .where(isAfterCursor(before))
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(size)
        .execute()
      return rows.map(delegationRows.fromRow)
    },

    async listOfPolicy(policyId, nowMs, page) {
      const query = db
        .selectFrom("delegation")
        .selectAll()
        .where("policy_id", "=", policyId)
        .where("revoked_at", "is", null)
        .where("expires_at", ">", at(nowMs))
      return (await newestFirst(query, page).execute()).map(delegationRows.fromRow)
    },

    async listOfPolicies(appId, tenantId, nowMs, { size, before }) {
      const cursor = before === null ? [] : [at(before.createdAtMs), before.id]
      const text = before === null ? ofPoliciesFirstText : ofPoliciesAfterText
      const values = [appId, tenantId ?? "", at(nowMs), size, ...cursor]
      return (await run<Selectable<DelegationTable>>(db, text, values)).map(delegationRows.fromRow)
    },

    async revokeDelegation(id, nowMs) {
      const revoked = await db
        .updateTable("delegation")
        .set({ revoked_at: at(nowMs) })
        .where("id", "=", id)
        .where("revoked_at", "is", null)
        .returning("id")
        .execute()
      return revoked.length === 1
    },
  }
}
