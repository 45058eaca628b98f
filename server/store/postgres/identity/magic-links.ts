import type { MagicLinks } from "@signet/kernel/ports"
import { at, type Database } from "../sql.ts"

/** More than the limits permit in a day. */
const mostLive = 64

export function magicLinks(db: Database): MagicLinks {
  return {
    async insert({ id, emailHash, appId, codeChallenge, expiresAtMs }) {
      const row = {
        id,
        email_hash: emailHash,
        app_id: appId,
        code_challenge: codeChallenge,
        expires_at: at(expiresAtMs),
      }
      await db.insertInto("magic_link_request").values(row).execute()
    },

    async findLive(emailHashes, nowMs) {
      const rows = await db
        .selectFrom("magic_link_request")
        .select(["id", "email_hash", "app_id", "code_challenge", "expires_at"])
        .where("email_hash", "in", emailHashes)
        .where("expires_at", ">", at(nowMs))
        .orderBy("id", "desc")
        .limit(mostLive)
        .execute()
      return rows.map((row) => ({
        id: row.id,
        emailHash: new Uint8Array(row.email_hash),
        appId: row.app_id,
        codeChallenge: row.code_challenge,
        expiresAtMs: row.expires_at.getTime(),
      }))
    },

    async forget(emailHashes) {
      await db.deleteFrom("magic_link_request").where("email_hash", "in", emailHashes).execute()
    },
  }
}
