// @signet/client-web/messaging/peek: previews for the notifications of a service worker.
import { boundedTransport, type Peeked, type PeekOptions, peek as portablePeek } from "@signet/client/messaging/peek"
import { clock, random } from "../environment.ts"
import { createWebSecretBox } from "../secret-box.ts"
import { storeNameOf } from "./defaults.ts"
import { openIdbStore } from "./idb-store.ts"

export type { Peeked, Preview } from "@signet/client/messaging/peek"

export type WebPeekOptions = Pick<PeekOptions, "messaging" | "session"> &
  Partial<Pick<PeekOptions, "store" | "secretBox" | "transport">>

/**
 * Reads the messages that the app has not processed, and stores nothing. Tabs of the app may run at the same time.
 *
 * Never rejects: after any failure the result is "newMessages".
 */
export async function peek(options: WebPeekOptions): Promise<Peeked> {
  const { messaging, session } = options
  try {
    const store = options.store ?? (await openIdbStore(storeNameOf(session)))
    const {
      secretBox = createWebSecretBox(),
      transport = boundedTransport(messaging.baseUrl, (...call) => fetch(...call)),
    } = options
    try {
      return await portablePeek({ ...options, store, secretBox, transport, clock, random })
    } finally {
      if (options.store === undefined) await store.close()
    }
  } catch {
    return { is: "newMessages" }
  }
}
