import { randomFillSync } from "node:crypto"
import { platform } from "node:os"
import { nodeVerify } from "@signet/canonical/node/ed25519"
import type { Clock, Random } from "@signet/client"
import type { Messenger, MessengerOptions } from "@signet/client/messaging"
import { createMessengerWith } from "../../core/messaging/platform.ts"
import { makeNodeSuite } from "../crypto/suite.ts"
import { connectTo } from "./wire.ts"

export interface NodeMessengerOptions
  extends Pick<MessengerOptions, "messaging" | "session" | "store" | "secretBox" | "whenKeysChange"> {
  /** Default: Connect over HTTP/1.1 to `messaging.baseUrl`. */
  readonly transport?: MessengerOptions["transport"]
}

const clock: Clock = {
  nowMs: () => Date.now(),
  after(ms, run) {
    // A pending message keeps the program alive.
    const timer = setTimeout(run, Math.min(ms, 2 ** 31 - 1))
    return () => clearTimeout(timer)
  },
}
const random: Random = { bytes: (length) => randomFillSync(new Uint8Array(length)) }

/**
 * Opens the messenger of one device, on `node:crypto`.
 *
 * @throws MessagingError WRONG_USER, SECURE_STORE_CHANGED, STATE_NEWER_VERSION, STATE_TAMPERED: nothing was changed.
 * @throws SecretBoxError
 */
export function createMessenger(options: NodeMessengerOptions): Promise<Messenger> {
  const transport = options.transport ?? connectTo(options.messaging.baseUrl)
  const given = { ...options, transport, clock, random, platform: `node-${platform()}` }
  return createMessengerWith(given, { suite: makeNodeSuite(), verify: nodeVerify })
}
