import type { ProofNonces } from "@signet/kernel/messaging/ports"
import { ask } from "./asking.ts"
import type { DurableEnv } from "./env.ts"

/** Nonces are kept by the object of their device. A call whose answer was lost counts as used: it is a replay. */
export const durableProofNonces = (env: DurableEnv): ProofNonces => ({
  use: (deviceId, nonce, expiresAtMs) => ask(() => env.DEVICES.getByName(deviceId).useNonce(nonce, expiresAtMs)),
})
