import type { Delegations } from "@signet/kernel/machine/ports"
import type { DelegationPolicy, StandingDelegation } from "@signet/kernel/machine/records"
import type { Selectable } from "kysely"
import type { DelegationPolicyTable, DelegationTable } from "../machine/machine-schema.ts"
import { after } from "../page.ts"
import { at, atOrNull, type Database, msOrNull, run } from "../sql.ts"

const policiesText = `select * from delegation_policy
where actor_principal_id = $1 and app_id = $2 and revoked_at is null order by id`
const delegationText = "select * from delegation where id = $1"

export function delegations(db: Database): Delegations {
  return {
    async insertPolicy(policy) {
      await db.insertInto("delegation_policy").values(policyToRow(policy)).execute()
    },

    async lockPolicy(id) {
      const query = db.selectFrom("delegation_policy").selectAll().where("id", "=", id).forUpdate()
      const row = await query.executeTakeFirst()
      return row && policyFromRow(row)
    },

    async findPolicies(actor, appId) {
      return (await run<Selectable<DelegationPolicyTable>>(db, policiesText, [actor, appId])).map(policyFromRow)
    },

    async listPolicies(appId, tenantId, { size, before }) {
      const rows = await db
        .selectFrom("delegation_policy")
        .selectAll()
        .where("app_id", "=", appId)
        .where("tenant_id", tenantId === null ? "is" : "=", tenantId)
        .where(after(before))
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(size)
        .execute()
      return rows.map(policyFromRow)
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

    async insertDelegation(delegation) {
      await db.insertInto("delegation").values(delegationToRow(delegation)).execute()
    },

    async findDelegation(id) {
      const [row] = await run<Selectable<DelegationTable>>(db, delegationText, [id])
      return row && delegationFromRow(row)
    },

    async listDelegations(subject, appId, { size, before }) {
      const rows = await db
        .selectFrom("delegation")
        .selectAll()
        .where("subject_principal_id", "=", subject)
        .where("app_id", "=", appId)
        .where(after(before))
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(size)
        .execute()
      return rows.map(delegationFromRow)
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

const policyFromRow = (row: Selectable<DelegationPolicyTable>): DelegationPolicy => ({
  id: row.id,
  appId: row.app_id,
  tenantId: row.tenant_id,
  actorPrincipalId: row.actor_principal_id,
  audiences: row.audiences,
  scopes: row.scopes,
  maxSeconds: row.max_seconds,
  allowStanding: row.allow_standing,
  createdAtMs: row.created_at.getTime(),
  revokedAtMs: msOrNull(row.revoked_at),
})

const policyToRow = (policy: DelegationPolicy): DelegationPolicyTable => ({
  id: policy.id,
  app_id: policy.appId,
  tenant_id: policy.tenantId,
  actor_principal_id: policy.actorPrincipalId,
  audiences: policy.audiences,
  scopes: policy.scopes,
  max_seconds: policy.maxSeconds,
  allow_standing: policy.allowStanding,
  created_at: at(policy.createdAtMs),
  revoked_at: atOrNull(policy.revokedAtMs),
})

export const delegationFromRow = (row: Selectable<DelegationTable>): StandingDelegation => ({
  id: row.id,
  policyId: row.policy_id,
  appId: row.app_id,
  tenantId: row.tenant_id,
  contextId: row.context_id,
  subjectPrincipalId: row.subject_principal_id,
  actorPrincipalId: row.actor_principal_id,
  audiences: row.audiences,
  scopes: row.scopes,
  createdAtMs: row.created_at.getTime(),
  expiresAtMs: row.expires_at.getTime(),
  revokedAtMs: msOrNull(row.revoked_at),
})

const delegationToRow = (delegation: StandingDelegation): DelegationTable => ({
  id: delegation.id,
  policy_id: delegation.policyId,
  app_id: delegation.appId,
  tenant_id: delegation.tenantId,
  context_id: delegation.contextId,
  subject_principal_id: delegation.subjectPrincipalId,
  actor_principal_id: delegation.actorPrincipalId,
  audiences: delegation.audiences,
  scopes: delegation.scopes,
  created_at: at(delegation.createdAtMs),
  expires_at: at(delegation.expiresAtMs),
  revoked_at: atOrNull(delegation.revokedAtMs),
})
