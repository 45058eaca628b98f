// Pages of chains and checkpoints for external verification.
import type { Head } from "@signet/kernel/audit/chain"
import { inOrder } from "@signet/kernel/audit/checkpoint"
import type { AuditLog } from "@signet/kernel/ports"
import type { Selectable } from "kysely"
import { type Database, run } from "../sql.ts"
import { fromCheckpointRow, fromHeadRow, fromLinkedRow, type LinkedRow, linkedColumns } from "./audit-link-row.ts"
import type { AuditTables } from "./audit-schema.ts"

const linksText = `select ${linkedColumns} from audit_link left join audit_event on audit_event.id = audit_link.event_id
where audit_link.shard = $1 and audit_link.seq > $2 order by audit_link.seq limit $3`

const checkpointsText = "select * from audit_checkpoint where number > $1 order by number limit $2"

const headsText = "select * from audit_checkpoint_head where number = any($1::bigint[]) order by number, shard"

export function auditExports(db: Database): Pick<AuditLog, "links" | "checkpoints"> {
  return {
    async links(shard, afterSeq, size) {
      return (await run<LinkedRow>(db, linksText, [shard, afterSeq.toString(), size])).map(fromLinkedRow)
    },

    async checkpoints(afterNumber, size) {
      const values = [afterNumber.toString(), size]
      const rows = await run<Selectable<AuditTables["audit_checkpoint"]>>(db, checkpointsText, values)
      const numbers = rows.map(({ number }) => number)
      const heads = await run<Selectable<AuditTables["audit_checkpoint_head"]>>(db, headsText, [numbers])
      const byNumber = new Map<number, Head[]>(numbers.map((number) => [number, []]))
      for (const head of heads) byNumber.get(head.number)?.push(fromHeadRow(head))
      return rows.map((row) => ({ checkpoint: fromCheckpointRow(row), heads: inOrder(byNumber.get(row.number) ?? []) }))
    },
  }
}
