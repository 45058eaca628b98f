import type { PushEndpoints, PushPolicy } from "@signet/kernel/messaging/push"

/** Push hints, if the operator enables them. */
export interface Pushes {
  readonly endpoints: PushEndpoints
  readonly policy: PushPolicy
  /** The public key that verifies pushes: 65 bytes. */
  publicKey(): Promise<Uint8Array>
}
