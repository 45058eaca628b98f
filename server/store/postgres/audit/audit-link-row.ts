// Maps links and heads to rows.
import type { AuditLink, Head } from "@signet/kernel/audit/chain"
import type { Checkpoint } from "@signet/kernel/audit/checkpoint"
import type { Linked } from "@signet/kernel/audit/verify-chains"
import type { Selectable } from "kysely"
import { bytes } from "../sql.ts"
import { fromAuditRow } from "./audit-row.ts"
import type { AuditEventTable, AuditLinkTable, AuditTables } from "./audit-schema.ts"

const fromLinkRow = (row: Selectable<AuditLinkTable>): AuditLink => ({
  shard: row.shard,
  seq: BigInt(row.seq),
  eventId: row.event_id,
  eventHash: bytes(row.event_hash),
  linkedAtMs: row.linked_at.getTime(),
  hash: bytes(row.hash),
})

export const fromHeadRow = (row: { shard: string; seq: number; hash: Uint8Array }): Head => ({
  shard: row.shard,
  seq: BigInt(row.seq),
  hash: bytes(row.hash),
})

export const fromCheckpointRow = (row: Selectable<AuditTables["audit_checkpoint"]>): Checkpoint => ({
  number: BigInt(row.number),
  createdAtMs: row.created_at.getTime(),
  jws: row.jws,
  stamp: bytes(row.stamp),
})

/** A link joined with its event, whose columns are all null if it was dropped. */
export type LinkedRow = Selectable<AuditLinkTable> & (Selectable<AuditEventTable> | { id: null })

export const linkedColumns = "audit_event.*, audit_link.*"

export const fromLinkedRow = (row: LinkedRow): Linked => ({
  link: fromLinkRow(row),
  row: row.id === null ? null : fromAuditRow(row),
})
