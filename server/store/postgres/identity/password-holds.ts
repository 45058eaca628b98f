import type { PasswordHolds } from "@signet/kernel/identity/account-ports"
import { at, type Database } from "../sql.ts"

export function passwordHolds(db: Database): PasswordHolds {
  return {
    async hold(account, nowMs) {
      const row = { account_hash: account, held_at: at(nowMs) }
      await db
        .insertInto("password_hold")
        .values(row)
        .onConflict((conflict) => conflict.column("account_hash").doNothing())
        .execute()
    },

    async isHeld(account) {
      const query = db.selectFrom("password_hold").select("held_at").where("account_hash", "=", account)
      return (await query.executeTakeFirst()) !== undefined
    },

    async release(account) {
      await db.deleteFrom("password_hold").where("account_hash", "=", account).execute()
    },
  }
}
