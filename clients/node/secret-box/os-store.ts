// Keys in the operating system's credential store.
import type { Lock, SecretBox } from "@signet/client"
import { type DpapiOptions, dpapiKeeper } from "./dpapi.ts"
import { createKeptBox, type Keeper } from "./kept-box.ts"
import { keyringKeeper, unavailable } from "./keyring.ts"

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
  if (platform === "win32") return osBox(backend, dpapiKeeper(dpapi), lock)
  // Imported here, because the native library does not exist for every machine.
  const library = await import("@napi-rs/keyring").catch((error: unknown) => {
    throw unavailable("the store's library does not load on this machine", error)
  })
  return osBox(backend, keyringKeeper(library.AsyncEntry), lock)
}

/** @internal A box over a store of the operating system. */
export const osBox = (backend: string, keeper: Keeper, lock: Lock): SecretBox =>
  createKeptBox({ backend, version: 1, hardware: false, deviceBound: false, persistent: true }, keeper, lock)
