// The users whom one user blocks, inside its object.
import type { PrincipalId } from "@signet/kernel/ids"
import type { BlockList } from "@signet/kernel/messaging/records"
import { fromText, toText } from "../plain.ts"
import type { Sql } from "../sql.ts"

export const blockSteps = [
  "create table block (id integer primary key check (id = 1), version integer not null, user_ids text not null)",
] as const

export function findBlocks(sql: Sql): BlockList | undefined {
  const row = sql.row<{ version: number; user_ids: string }>("select version, user_ids from block")
  return row && { version: BigInt(row.version), userIds: fromText<readonly PrincipalId[]>(row.user_ids) }
}

/** Requires a transaction. */
export const putBlocks = (sql: Sql, { version, userIds }: BlockList): void =>
  sql.run("insert or replace into block (id, version, user_ids) values (1, ?, ?)", version, toText(userIds))
