import type { IsolationLevel } from "kysely"
import { auditLog, type TransactionAuditLog } from "./audit/audit.ts"
import type { AuditLogDeps } from "./audit/audit-log-deps.ts"
import type { Database } from "./sql.ts"
import { hasRevoked } from "./token/revocations.ts"

export interface TransactionOptions {
  readonly isolationLevel: IsolationLevel
  readonly audit: AuditLogDeps
  /** Called after revocations were committed, which then wait for their sequence numbers. */
  readonly onRevoked?: (() => void) | undefined
}

/** Runs one transaction, and commits its audit events with it. */
export async function inTransaction<T>(
  db: Database,
  { isolationLevel, audit: writing, onRevoked }: TransactionOptions,
  work: (trx: Database, audit: TransactionAuditLog) => Promise<T>,
): Promise<T> {
  const { result, audit, isRevoking } = await db
    .transaction()
    .setIsolationLevel(isolationLevel)
    .execute(async (trx) => {
      const audit = auditLog(trx, writing)
      const result = await work(trx, audit)
      await audit.finish()
      return { result, audit, isRevoking: hasRevoked(trx) }
    })
  audit.afterCommit()
  if (isRevoking) onRevoked?.()
  return result
}
