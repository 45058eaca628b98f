import type { SecretBox } from "@signet/client"
import {
  createMessenger as createPortableMessenger,
  type MessagingStore,
  type Messenger,
  type MessengerOptions,
} from "@signet/client/messaging"
import { clock, random } from "../environment.ts"
import { createWebSecretBox } from "../secret-box.ts"
import { checkSecureContext } from "../secure-context.ts"
import { connectTo, storeNameOf } from "./defaults.ts"
import { openIdbStore } from "./idb-store.ts"

export interface WebMessengerOptions extends Pick<MessengerOptions, "messaging" | "session" | "whenKeysChange"> {
  /**
   * Where keys and group states are. "direct": in the page. "wasm": in a Worker of this messenger, in WebAssembly, where
   * no script of the page reads them. Each has a store of its own, and is a device of its own. Default: "direct".
   */
  readonly core?: "direct" | "wasm"
  /** Default: in IndexedDB, one per user of the browser. */
  readonly store?: MessagingStore
  /** Default: non-extractable keys in IndexedDB. */
  readonly secretBox?: SecretBox
  /** Default: Connect to `messaging.baseUrl`, without cookies. */
  readonly transport?: MessengerOptions["transport"]
}

/**
 * Opens the messenger of a page or worker: one device, however many tabs it has.
 *
 * @throws SecretBoxError INSECURE_CONTEXT before anything is stored or sent; SECURE_STORE_UNAVAILABLE if the browser
 *   does not store keys. There is no fallback.
 * @throws MessagingError WRONG_USER, SECURE_STORE_CHANGED, STATE_NEWER_VERSION, STATE_TAMPERED: nothing was changed.
 */
export async function createMessenger(options: WebMessengerOptions): Promise<Messenger> {
  checkSecureContext()
  const { core = "direct", messaging, session } = options
  if (core === "wasm") return openWithWorker(options)
  const store = options.store ?? (await openIdbStore(storeNameOf(session)))
  const { secretBox = createWebSecretBox(), transport = connectTo(messaging.baseUrl) } = options
  try {
    const given = { ...options, store, secretBox, transport, clock, random, platform: "web" }
    return await createPortableMessenger(given)
  } catch (error) {
    if (options.store === undefined) await store.close()
    throw error
  }
}

/** Loaded on demand: a page with the direct core does not need it. */
async function openWithWorker(options: WebMessengerOptions): Promise<Messenger> {
  const given = (["store", "secretBox", "transport"] as const).find((name) => options[name] !== undefined)
  if (given !== undefined) throw new TypeError(`${given} is of the page: it needs core: "direct"`)
  const { openInWorker } = await import("./open-in-worker.ts")
  return openInWorker(options)
}
