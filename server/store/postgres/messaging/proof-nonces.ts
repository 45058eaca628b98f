import type { ProofNonces } from "@signet/kernel/messaging/ports"
import { at } from "../sql.ts"
import type { Access } from "./access.ts"

const useText = `insert into proof_nonce (device_id, nonce, expires_at) values ($1, $2, $3)
on conflict do nothing returning device_id`

export function proofNonces({ ask }: Access): ProofNonces {
  return {
    async use(deviceId, nonce, expiresAtMs) {
      return (await ask(useText, [deviceId, nonce, at(expiresAtMs)])).length === 1
    },
  }
}
