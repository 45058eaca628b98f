import type { Messenger } from "@signet/client/messaging"
import { checkSecureContext } from "../secure-context.ts"
import type { WebMessengerOptions } from "./options.ts"

/**
 * Opens the messenger of a page: one device, however many tabs it has. Each core is loaded on demand.
 *
 * @throws SecretBoxError INSECURE_CONTEXT before anything is stored or sent; SECURE_STORE_UNAVAILABLE if the browser
 *   does not store keys. There is no fallback.
 * @throws MessagingError WRONG_USER, SECURE_STORE_CHANGED, STATE_NEWER_VERSION, STATE_TAMPERED: nothing was changed.
 * @throws SignetError CONFIGURATION_INVALID if the Worker is not served, or the page's policy or the browser does not allow
 *   it. The message names the rule.
 */
export async function createMessenger(options: WebMessengerOptions): Promise<Messenger> {
  checkSecureContext()
  if (options.core === "direct") return (await import("./open-direct.ts")).openDirect(options)
  const given = (["store", "secretBox", "transport"] as const).find((name) => options[name] !== undefined)
  if (given !== undefined) throw new TypeError(`${given} is of the page: it needs core: "direct"`)
  return (await import("./open-in-worker.ts")).openInWorker(options)
}
