import { verifyEd25519 } from "@signet/canonical/ed25519"
import { createMessengerWith } from "./create-messenger.ts"
import { makeWebSuite } from "./crypto/web-suite.ts"
import type { Messenger, MessengerOptions } from "./messenger.ts"

/**
 * Opens the messenger of one device with WebCrypto. The package of a platform may have a faster one.
 *
 * @throws MessagingError WRONG_USER, SECURE_STORE_CHANGED, STATE_NEWER_VERSION, STATE_TAMPERED. Nothing is changed
 *   then.
 * @throws SecretBoxError
 */
export async function createMessenger(options: MessengerOptions): Promise<Messenger> {
  return createMessengerWith(options, { suite: await makeWebSuite(), verify: verifyEd25519 })
}
