import type { ProofNonces } from "@signet/kernel/messaging/ports"
import { ask } from "./asking.ts"
import type { DurableEnv } from "./env.ts"

/**
 * Nonces are stored in the object of their device. A retried call with the same nonce is a replay, also when the first
 * answer was lost.
 */
export const durableProofNonces = (env: DurableEnv): ProofNonces => ({
  use: (deviceId, nonce, expiresAtMs) => ask(() => env.DEVICES.getByName(deviceId).useNonce(nonce, expiresAtMs)),
})
