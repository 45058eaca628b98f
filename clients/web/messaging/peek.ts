// @signet/client-web/messaging/peek: previews for the notifications of a service worker.
import { boundedTransport, type Peeked, type PeekOptions, peek as portablePeek } from "@signet/client/messaging/peek"
import { clock, random } from "../environment.ts"
import { createWebSecretBox } from "../secret-box.ts"
import { findStoreName } from "./defaults.ts"
import { openExistingIdbStore } from "./idb-store.ts"

export type { Peeked, Preview } from "@signet/client/messaging/peek"

export type WebPeekOptions = Pick<PeekOptions, "messaging" | "session"> &
  Partial<Pick<PeekOptions, "store" | "secretBox" | "transport">> & {
    /** As for `createMessenger`. */
    readonly core?: "direct" | "wasm"
  }

/**
 * Reads the messages that the app has not processed, and stores nothing. Tabs of the app may run at the same time.
 *
 * Never rejects: after any failure the result is "newMessages".
 */
export async function peek(options: WebPeekOptions): Promise<Peeked> {
  const { messaging, session, core } = options
  try {
    const store = options.store ?? (await openExistingIdbStore(await findStoreName(session, core)))
    if (store === undefined) return { is: "newMessages" }
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
