// The core in the page. Loaded on demand: a page with the core in a Worker does not need it.
import { createConnectTransport } from "@connectrpc/connect-web"
import type { SecretBox, SecretScope } from "@signet/client"
import type { Messenger, MessengerOptions } from "@signet/client/messaging"
import type { KeyReferences } from "../../core/messaging/crypto/suite.ts"
import { makeWebSuite, verifyEd25519 } from "../../core/messaging/crypto/web-suite.ts"
import { createMessengerWith } from "../../core/messaging/platform.ts"
import { createMessenger } from "../../core/messaging/portable.ts"
import { clock, random } from "../environment.ts"
import { createWebSecretBox } from "../secret-box.ts"
import { boundedFetch } from "./bounded.ts"
import { findStoreName } from "./defaults.ts"
import { openIdbStore } from "./idb-store.ts"
import type { WebMessengerOptions } from "./options.ts"
import { createSigningKeys, type SigningKeys } from "./signing-keys.ts"

export async function openDirect(options: WebMessengerOptions): Promise<Messenger> {
  const { messaging, session } = options
  const { secretBox = createWebSecretBox(), transport = connectTo(messaging.baseUrl) } = options
  const given = { ...options, secretBox, transport, clock, random, platform: "web" }
  // In an app's own store, the sealed rows have the signing keys, too.
  if (options.store !== undefined) return createMessenger({ ...given, store: options.store })
  const store = await openIdbStore(options.storeName ?? (await findStoreName(session, options.core)))
  const keys = createSigningKeys()
  try {
    return await createMessengerWith(
      { ...given, store, secretBox: withSigningKeys(secretBox, keys) },
      { suite: await makeWebSuite(), verify: verifyEd25519, keysOf: (scope) => referencesOf(keys, scope) },
    )
  } catch (error) {
    await store.close()
    throw error
  }
}

/** The signing keys are destroyed with the key of the rows. */
const withSigningKeys = (box: SecretBox, keys: SigningKeys): SecretBox => ({
  ...box,
  async destroy(scope) {
    await box.destroy(scope)
    await keys.destroy(scope)
  },
})

const referencesOf = (keys: SigningKeys, scope: SecretScope): KeyReferences => ({
  sign: (reference, message) => keys.sign(scope, reference, message),
  async signatureKeyPair() {
    const { reference, publicKey } = await keys.generate(scope)
    return { seed: reference, publicKey }
  },
  importSeed: (seed, publicKey) => keys.importSeed(scope, seed, publicKey),
})

/** Connect, without cookies. */
function connectTo(baseUrl: string): MessengerOptions["transport"] {
  const withoutCookies: typeof fetch = (input, init) => fetch(input, { ...init, credentials: "omit" })
  return createConnectTransport({ baseUrl, useBinaryFormat: true, fetch: boundedFetch(withoutCookies) })
}
