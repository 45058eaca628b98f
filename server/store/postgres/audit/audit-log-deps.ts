import type { AuditCrypto } from "@signet/kernel/audit/crypto"
import { createKeyCache, type KeyCache } from "./audit-keys.ts"

/** The dependencies of writing the audit log, shared by all transactions of a process. */
export interface AuditLogDeps {
  readonly seals: AuditCrypto
  readonly keyCache: KeyCache
  /** Called after events were committed, which are then pending. */
  readonly onCommitted: () => void
}

/** Stores of one process share one instance, so that they share the cache of data keys. */
export const createAuditLogDeps = (seals: AuditCrypto, onCommitted: () => void = () => {}): AuditLogDeps => ({
  seals,
  keyCache: createKeyCache(),
  onCommitted,
})
