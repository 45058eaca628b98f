import { createAuditCrypto } from "../../server/keys/audit-crypto.ts"
import { type AuditLogDeps, createAuditLogDeps } from "../../server/store/postgres/audit/audit-log-deps.ts"

/** The seals of test servers, which share one sealing key. */
export const testSeals = createAuditCrypto(new Uint8Array(32).fill(2))

export const testAuditLogDeps = (): AuditLogDeps => createAuditLogDeps(testSeals)
