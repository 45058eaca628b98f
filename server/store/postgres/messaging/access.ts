// How these files reach the database: each method of the store is one statement or one transaction, run again when it
// lost to another.
import type { AuditEvent } from "@signet/kernel/audit/event"
import type { TenantId } from "@signet/kernel/ids"
import type { Place } from "@signet/kernel/messaging/records"
import type { IsolationLevel } from "kysely"
import { auditLog } from "../audit.ts"
import { retried } from "../retry.ts"
import { type Database, run } from "../sql.ts"

export interface Access {
  /** One statement. */
  ask<Row>(text: string, values: readonly unknown[]): Promise<readonly Row[]>
  /**
   * One transaction. It may run several times.
   *
   * @param work Its `undo` ends it without a trace, with that answer.
   */
  transact<T>(work: (trx: Database, undo: (answer: T) => never) => Promise<T>): Promise<T>
}

export function createAccess(db: Database, isolationLevel: IsolationLevel): Access {
  return {
    ask: (text, values) => retried(() => run(db, text, values)),

    transact: <T>(work: (trx: Database, undo: (answer: T) => never) => Promise<T>) =>
      retried(async () => {
        let undone: { readonly answer: T } | undefined
        const undo = (answer: T): never => {
          undone = { answer }
          throw new Error("undone")
        }
        try {
          return await db
            .transaction()
            .setIsolationLevel(isolationLevel)
            .execute((trx) => work(trx, undo))
        } catch (error) {
          if (undone !== undefined) return undone.answer
          throw error
        }
      }),
  }
}

export async function appendAudit(trx: Database, events: readonly (AuditEvent | null)[]): Promise<void> {
  const log = auditLog(trx)
  for (const event of events) if (event !== null) await log.append(event)
}

/** SQLSTATE 23505: a unique index has it already. */
export function isTaken(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "23505"
}

/** A place as keys have it: without a tenant, the empty text. */
export const placeOf = ({ appId, tenantId }: Place): readonly [string, string] => [appId, tenantId ?? ""]
export const tenantOf = (kept: TenantId | ""): TenantId | null => (kept === "" ? null : kept)

/** Arrays of bytes as the driver takes them. */
export const buffers = (all: readonly Uint8Array[]): Buffer[] => all.map((one) => Buffer.from(one))
