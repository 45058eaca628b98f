import type { AuditSeals } from "@signet/kernel/audit/seals"
import { createKnownKeys, type KnownKeys } from "./audit-keys.ts"

/** What a store writes the audit with. */
export interface AuditWriting {
  readonly seals: AuditSeals
  readonly known: KnownKeys
  /** Called when events were committed: there is something to link. */
  readonly onCommitted: () => void
}

/** Stores of one process share it, so that they know the same keys. */
export const createAuditWriting = (seals: AuditSeals, onCommitted: () => void = () => {}): AuditWriting => ({
  seals,
  known: createKnownKeys(),
  onCommitted,
})
