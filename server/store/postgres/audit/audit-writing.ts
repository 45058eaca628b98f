import type { AuditSeals } from "@signet/kernel/audit/seals"
import { createKnownKeys, type KnownKeys } from "./audit-keys.ts"

/** The dependencies of writing the audit. */
export interface AuditWriting {
  readonly seals: AuditSeals
  readonly known: KnownKeys
  /** Called after events were committed, which are then pending. */
  readonly onCommitted: () => void
}

/** Stores of one process share one instance, so that they share the known keys. */
export const createAuditWriting = (seals: AuditSeals, onCommitted: () => void = () => {}): AuditWriting => ({
  seals,
  known: createKnownKeys(),
  onCommitted,
})
