import type { IsolationLevel } from "kysely"
import { auditLog, type OpenAuditLog } from "./audit/audit.ts"
import type { AuditWriting } from "./audit/audit-writing.ts"
import type { Database } from "./sql.ts"
import { hasRevoked } from "./token/revocations.ts"

export interface TransactionOptions {
  readonly isolationLevel: IsolationLevel
  readonly audit: AuditWriting
  /** Called when revocations were committed: they wait for their places in the log. */
  readonly onRevoked?: (() => void) | undefined
}

/** One transaction, which ends with what it has appended to the audit: all of both is kept, or nothing. */
export async function inTransaction<T>(
  db: Database,
  { isolationLevel, audit: writing, onRevoked }: TransactionOptions,
  work: (trx: Database, audit: OpenAuditLog) => Promise<T>,
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
  audit.committed()
  if (isRevoking) onRevoked?.()
  return result
}
