// Keys in the Secret Service or the Keychain, by the keyring library.
import type { AsyncEntry } from "@napi-rs/keyring"
import { SecretBoxError, type SecretScope } from "@signet/client"
import { scopeText } from "../../core/platform.ts"
import type { Keeper } from "./kept-box.ts"

/**
 * Keys in the credential store, by the library's entries.
 *
 * @throws SecretBoxError at each use: LOCKED, or SECURE_STORE_UNAVAILABLE when the store does not answer.
 */
export function keyringKeeper(Entry: typeof AsyncEntry): Keeper {
  const using = async <T>(scope: SecretScope, use: (entry: AsyncEntry) => Promise<T>): Promise<T> => {
    try {
      return await use(new Entry(`signet ${scope.app}`, scopeText(scope), { linux: { store: "secret-service" } }))
    } catch (error) {
      throw refusal(error)
    }
  }
  return {
    read: (scope) =>
      using(scope, async (entry) => {
        const numbers = await entry.getSecret()
        if (numbers === null) return undefined
        const bytes = Uint8Array.from(numbers)
        numbers.fill(0)
        return bytes
      }),
    write: (scope, bytes) => using(scope, (entry) => entry.setSecret(bytes)),
    remove: (scope) => using(scope, async (entry) => void (await entry.deleteCredential())),
  }
}

/** The library has only messages: that of keyring's NoStorageAccess means a locked store. */
function refusal(error: unknown): SecretBoxError {
  const message = error instanceof Error ? error.message : ""
  return message.startsWith("Couldn't access platform storage")
    ? new SecretBoxError("LOCKED", "the credential store is locked: unlock it and try again", { cause: error })
    : unavailable("the credential store of this system does not answer", error)
}

export const unavailable = (message: string, cause?: unknown) =>
  new SecretBoxError("SECURE_STORE_UNAVAILABLE", message, { cause })
