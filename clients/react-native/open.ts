import type { NativeCore } from "./native-client.ts"
import { openSignetWith, type ReactNativeOptions, type SignetClient } from "./open-signet.ts"
import NativeSignet from "./spec/NativeSignet.ts"

/**
 * Opens an account of this device with the app's native module.
 *
 * @throws SignetError, SecretBoxError, CoreError; Error for an argument that the native module refuses, and for an app without
 *   the module
 */
export async function openSignet(options: ReactNativeOptions): Promise<SignetClient> {
  if (NativeSignet === null) throw new Error("the app has no native module Signet: build the app again")
  // The code generator lacks the type.
  return openSignetWith(NativeSignet.core() as NativeCore, options)
}
