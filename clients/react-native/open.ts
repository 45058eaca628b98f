import type { NativeCore } from "./native-client.ts"
import { openSignetWith, type ReactNativeOptions, type SignetClient } from "./open-signet.ts"
import NativeSignet from "./spec/NativeSignet.ts"

/**
 * Opens an account of this device with the app's native module.
 *
 * @throws SignetError, SecretBoxError, CoreError; Error for an argument that the native module refuses
 */
export const openSignet = (options: ReactNativeOptions): Promise<SignetClient> =>
  // The type that the code generator lacks.
  openSignetWith(NativeSignet.core() as NativeCore, options)
