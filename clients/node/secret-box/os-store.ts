// Keys in the operating system's credential store.
import type { AsyncEntry } from "@napi-rs/keyring"
import type { Lock } from "@signet/client"
import { type SecretBox, type SecretBoxDescription, SecretBoxError, type SecretScope } from "@signet/client"
import { scopeText } from "../../core/platform.ts"
import { type DpapiOptions, dpapiKeeper } from "./dpapi.ts"
import { createKeptBox, type Keeper } from "./kept-box.ts"

const backends: Readonly<Record<string, string>> = {
  linux: "secret-service",
  // Tested with a substitute for the library, never on the platform.
  darwin: "macos-keychain",
  // Tested with a substitute for PowerShell, never on the platform.
  win32: "windows-dpapi",
}

export interface OsSecretBoxOptions {
  /** A lock for all users of the store. */
  readonly lock: Lock
  /** As in process.platform. */
  readonly platform?: string
  /** Windows only: the store of wrapped keys, and how PowerShell is called. */
  readonly dpapi?: DpapiOptions
}

/**
 * Opens the system's credential store. On Linux only the Secret Service: the library's default falls back to the
 * kernel's keyring, which is lost at a restart. On Windows the user's data protection (DPAPI).
 *
 * @throws SecretBoxError SECURE_STORE_UNAVAILABLE without a store; the first use reports one that does not answer.
 */
export async function openOsSecretBox({
  lock,
  platform = process.platform,
  dpapi,
}: OsSecretBoxOptions): Promise<SecretBox> {
  const backend = backends[platform]
  if (backend === undefined) throw unavailable(`there is no store for ${platform}`)
  const description: SecretBoxDescription = {
    backend,
    version: 1,
    hardware: false,
    deviceBound: false,
    persistent: true,
  }
  if (platform === "win32") return createKeptBox(description, dpapiKeeper(dpapi), lock)
  // Imported here, because the native library does not exist for every machine.
  const library = await import("@napi-rs/keyring").catch((error: unknown) => {
    throw unavailable("the store's library does not load on this machine", error)
  })
  return createKeptBox(description, keeperOf(library.AsyncEntry), lock)
}

function keeperOf(Entry: typeof AsyncEntry): Keeper {
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

const unavailable = (message: string, cause?: unknown) =>
  new SecretBoxError("SECURE_STORE_UNAVAILABLE", message, { cause })
