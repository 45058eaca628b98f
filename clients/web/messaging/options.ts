import type { SecretBox } from "@signet/client"
import type { MessagingStore, MessengerOptions } from "@signet/client/messaging"

export interface WebMessengerOptions extends Pick<MessengerOptions, "messaging" | "session" | "whenKeysChange"> {
  /**
   * Where keys and group states are. "wasm": in a Worker of this messenger, in WebAssembly, where no script of the page
   * reads them. "direct": in the page. Both are the same device, on the same store. Default: "wasm", with no fallback.
   */
  readonly core?: "direct" | "wasm"
  /**
   * The name of the database in IndexedDB. Default: one per user of the browser. A page that opens a second messaging
   * service for the same user names another one: each service has its own devices.
   */
  readonly storeName?: string
  /** With `core: "direct"`. Default: in IndexedDB, one per user of the browser. */
  readonly store?: MessagingStore
  /** With `core: "direct"`. Default: non-extractable keys in IndexedDB. */
  readonly secretBox?: SecretBox
  /** With `core: "direct"`. Default: Connect to `messaging.baseUrl`, without cookies. */
  readonly transport?: MessengerOptions["transport"]
}
