import type { IdTokenUses } from "@signet/kernel/ports"
import { at, type Database, run } from "../sql.ts"

// Waits for a concurrent sign-in with the same token.
const useText =
  "insert into id_token_use (token_hash, expires_at) values ($1, $2) on conflict (token_hash) do nothing returning 1"

export function idTokenUses(db: Database): IdTokenUses {
  return {
    async use(tokenHash, expiresAtMs) {
      return (await run(db, useText, [tokenHash, at(expiresAtMs)])).length === 1
    },
  }
}
