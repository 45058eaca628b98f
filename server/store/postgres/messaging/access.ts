// The messaging store's access to the database. Each method of the store is one statement or one transaction, retried
// after a conflict.
import type { AuditEvent } from "@signet/kernel/audit/event"
import type { TenantId } from "@signet/kernel/ids"
import type { Place } from "@signet/kernel/messaging/records"
import type { AuditLog } from "@signet/kernel/ports"
import type { IsolationLevel } from "kysely"
import type { AuditLogDeps } from "../audit/audit-log-deps.ts"
import { retried } from "../retry.ts"
import { type Database, run } from "../sql.ts"
import { inTransaction } from "../transaction.ts"

export interface Access {
  /** For statements that write audit events outside of `transact`. Null for work without audit events. */
  readonly audit: AuditLogDeps | null
  /** Runs one statement. */
  ask<Row>(text: string, values: readonly unknown[]): Promise<readonly Row[]>
  /**
   * Runs one transaction, perhaps several times.
   *
   * @param work Its audit events are written last. `undo` rolls back and returns the given answer.
   */
  transact<T>(work: (trx: Database, audit: AuditAppender, undo: (answer: T) => never) => Promise<T>): Promise<T>
}

export type AuditAppender = Pick<AuditLog, "append">

export interface AccessOptions {
  /** Null for work without audit events. */
  readonly audit: AuditLogDeps | null
  readonly isolationLevel?: IsolationLevel
  /** Called after revocations were committed. */
  readonly onRevoked?: () => void
}

export function createAccess(db: Database, options: AccessOptions): Access {
  const { audit, isolationLevel = "read committed", onRevoked } = options
  return {
    audit,

    ask: (text, values) => retried(() => run(db, text, values)),

    transact: <T>(work: (trx: Database, log: AuditAppender, undo: (answer: T) => never) => Promise<T>) =>
      retried(async () => {
        let undone: { readonly answer: T } | undefined
        const undo = (answer: T): never => {
          undone = { answer }
          throw new Error("undone")
        }
        try {
          if (audit !== null) {
            return await inTransaction(db, { isolationLevel, audit, onRevoked }, (trx, log) => work(trx, log, undo))
          }
          return await db
            .transaction()
            .setIsolationLevel(isolationLevel)
            .execute((trx) => work(trx, noAudit, undo))
        } catch (error) {
          if (undone !== undefined) return undone.answer
          throw error
        }
      }),
  }
}

const noAudit: AuditAppender = {
  append: () => Promise.reject(new Error("this transaction has no audit")),
}

export async function appendAudit(log: AuditAppender, events: readonly (AuditEvent | null)[]): Promise<void> {
  for (const event of events) if (event !== null) await log.append(event)
}

/** SQLSTATE 23505: a unique index has the key already. */
export function isTaken(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "23505"
}

/** A place as a key: without a tenant, the empty text. */
export const placeOf = ({ appId, tenantId }: Place): readonly [string, string] => [appId, tenantId ?? ""]
export const tenantOf = (kept: TenantId | ""): TenantId | null => (kept === "" ? null : kept)

/** Arrays of bytes for the driver. */
export const buffers = (all: readonly Uint8Array[]): Buffer[] => all.map((one) => Buffer.from(one))
