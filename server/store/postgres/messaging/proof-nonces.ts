import type { DeviceId } from "@signet/kernel/ids"
import { equalBytes } from "@signet/kernel/messaging/bytes"
import type { ProofNonces } from "@signet/kernel/messaging/ports"
import { batched } from "../batches.ts"
import { byParameter } from "../limits/count-several.ts"
import { array, at } from "../sql.ts"
import type { Access } from "./access.ts"

// A nonce that is repeated within the statement is inserted once, too.
const useText = `insert into proof_nonce (device_id, nonce, expires_at)
select * from unnest(${array(1, "text")}, ${array(2, "bytea")}, ${array(3, "timestamptz")})
on conflict do nothing returning device_id, nonce`

interface Use {
  readonly deviceId: DeviceId
  readonly nonce: Uint8Array
  readonly expiresAtMs: number
}

export function proofNonces({ ask }: Access): ProofNonces {
  async function useAll(uses: readonly Use[]): Promise<readonly { isNew: boolean }[]> {
    const values = uses.map(({ deviceId, nonce, expiresAtMs }) => [deviceId, Buffer.from(nonce), at(expiresAtMs)])
    const rows = [...(await ask<{ device_id: DeviceId; nonce: Uint8Array }>(useText, byParameter(values)))]
    return uses.map(({ deviceId, nonce }) => {
      const i = rows.findIndex((row) => row.device_id === deviceId && equalBytes(row.nonce, nonce))
      // Of two uses of one nonce, only the first has it.
      return { isNew: i >= 0 && rows.splice(i, 1).length === 1 }
    })
  }
  const use = batched<Use, { isNew: boolean }>({
    runAll: useAll,
    runAlone: async (one) => (await useAll([one]))[0] ?? { isNew: false },
  })
  return { use: async (deviceId, nonce, expiresAtMs) => (await use({ deviceId, nonce, expiresAtMs })).isNew }
}
