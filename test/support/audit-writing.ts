import { createAuditSeals } from "../../server/keys/audit-seals.ts"
import { type AuditWriting, createAuditWriting } from "../../server/store/postgres/audit/audit-writing.ts"

/** The seals of test servers, which share one sealing key. */
export const testSeals = createAuditSeals(new Uint8Array(32).fill(2))

export const testAuditWriting = (): AuditWriting => createAuditWriting(testSeals)
