// Push hints of the Node server: endpoints of clients, and requests to checked addresses.
import type { DuePushes } from "@signet/kernel/messaging/push"
import type { Clock, Random } from "@signet/kernel/ports"
import { createPinnedSend, type PinnedSendOptions } from "../pushes/pinned-send.ts"
import { openPushKey } from "../pushes/push-key.ts"
import { pushRequest } from "../pushes/push-request.ts"
import type { PushSettings } from "../pushes/push-settings.ts"
import type { Pushes } from "../rpc/messaging/push/pushes.ts"
import type { SendPush } from "../rpc/messaging/push/send-pushes.ts"

export interface OpenPushes {
  readonly pushes: Pushes
  readonly due: DuePushes
  readonly send: SendPush
}

/**
 * @param settings Null disables pushes, and deletes the endpoints that are stored.
 * @throws Error for a key that is no P-256 private key.
 */
export async function openPushes(
  settings: PushSettings | null,
  of: { readonly endpoints: DuePushes; readonly clock: Clock; readonly random: Random } & PinnedSendOptions,
): Promise<OpenPushes | null> {
  const { endpoints, clock, random, isLoopbackAllowed } = of
  if (settings === null) {
    await endpoints.deleteAll()
    return null
  }
  const { hosts, key: pkcs8, contact } = settings
  const key = await openPushKey(pkcs8)
  const send = createPinnedSend(of)
  return {
    pushes: {
      endpoints,
      policy: { kinds: ["WEB_PUSH", "WEBHOOK"], hosts, isLoopbackAllowed },
      publicKey: async () => key.publicKey,
    },
    due: endpoints,
    send: async (endpoint) => send(await pushRequest({ key, contact, random }, endpoint, clock.nowMs())),
  }
}
