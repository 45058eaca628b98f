// The only file that raises versions: every change of authority calls it in its own transaction.
import type { AuthorityChange } from "@signet/kernel/authz/authority-change"
import type { Authorities } from "@signet/kernel/authz/ports"
import type { AppId, PrincipalId } from "@signet/kernel/ids"
import { longestContextMs } from "@signet/kernel/token/context-claims"
import { type Database, run } from "../sql.ts"
import { revocations } from "../token/revocations.ts"
import { findSnapshot } from "./permission-snapshot.ts"

const raised = (table: string) => `version = ${table}.version + 1,
  min_version = case when excluded.min_version > 0 then ${table}.version + 1 else ${table}.min_version end`
const raiseText = `insert into authority_version (principal_id, app_id, version, min_version) values ($1, $2, 1, $3)
on conflict (principal_id, app_id) do update set ${raised("authority_version")} returning app_id, version`
// Memberships are never deleted, so they name every app that the principal was a member of.
const raiseEverywhereText = `insert into authority_version (principal_id, app_id, version, min_version)
select distinct principal_id, app_id, 1, 0 from membership where principal_id = $1 order by app_id
on conflict (principal_id, app_id) do update set ${raised("authority_version")}`
const raisePolicyText = `insert into policy_version (app_id, version, min_version) values ($1, 1, $2)
on conflict (app_id) do update set ${raised("policy_version")} returning app_id, version`
const findText = `select
  (select version from authority_version where principal_id = $1 and app_id = $2) as principal,
  (select version from policy_version where app_id = $2) as policy`

interface Raised {
  app_id: AppId
  /** A bigint as the driver returns it. */
  version: string | number
}

/** Raises the version of the principal's authority in one app. */
export async function raiseAuthority(
  db: Database,
  of: { principalId: PrincipalId; appId: AppId },
  change: AuthorityChange,
  nowMs: number,
): Promise<void> {
  if (change === "none") return
  const rows = await run<Raised>(db, raiseText, [of.principalId, of.appId, minimumOf(change)])
  if (change !== "narrower") return
  const expiresAtMs = nowMs + longestContextMs
  const entries = rows.map(({ app_id: appId, version }) => ({
    kind: "AUTHORITY" as const,
    key: of.principalId,
    appId,
    minVersion: Number(version),
    expiresAtMs,
  }))
  await revocations(db).add(entries)
}

/**
 * Raises the version in every app, because the principal's status changed. Sets no minimum: a revocation of the
 * principal covers all of its tokens.
 */
export async function raiseAuthorityEverywhere(db: Database, id: PrincipalId): Promise<void> {
  await run(db, raiseEverywhereText, [id])
}

/** Raises the version of the app's roles and scopes, for all principals. */
export async function raisePolicy(db: Database, appId: AppId, change: AuthorityChange, nowMs: number): Promise<void> {
  if (change === "none") return
  const rows = await run<Raised>(db, raisePolicyText, [appId, minimumOf(change)])
  if (change !== "narrower") return
  const expiresAtMs = nowMs + longestContextMs
  const entries = rows.map(({ version }) => ({
    kind: "POLICY" as const,
    key: appId,
    minVersion: Number(version),
    expiresAtMs,
  }))
  await revocations(db).add(entries)
}

/** The minimum for an inserted row: above 0, the new version is the minimum. */
const minimumOf = (change: AuthorityChange): number => (change === "narrower" ? 1 : 0)

export function authorities(db: Database): Omit<Authorities, "findOf"> {
  return {
    async find(principalId, appId) {
      const [row] = await run<{ principal: string | null; policy: string | null }>(db, findText, [principalId, appId])
      return { principal: Number(row?.principal ?? 0), policy: Number(row?.policy ?? 0) }
    },
    snapshot: (of) => findSnapshot(db, of),
  }
}
