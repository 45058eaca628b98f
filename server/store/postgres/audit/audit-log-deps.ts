import type { AuditCrypto } from "@signet/kernel/audit/crypto"
import { createKeyCache, type KeyCache } from "./audit-keys.ts"

/** What all transactions of a process share to write the audit log. */
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
