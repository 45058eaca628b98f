// First: the generated messages decode texts when they are loaded.
import "./text-encoding.ts"

import type { SignetConfig } from "@signet/client"
import type { Peeked } from "@signet/client/messaging/peek"
import { toClientError } from "./errors.ts"
import { type NativeIdentity, openIdentity } from "./identity.ts"
import { openMessenger, type ReactNativeMessenger, type ReactNativeMessengerOptions } from "./messenger.ts"
import { type NativeCore, openNativeClient } from "./native-client.ts"
import { type PeekRequest, peekOver } from "./peek.ts"

export interface ReactNativeOptions extends Omit<SignetConfig, "requireSameDevice" | "device"> {
  /** Names the data of one user of the device: 1 to 48 characters of [a-z0-9-]. Default: `default`. */
  readonly account?: string
  /** Origins that `fetch` may call, among those that the app's native code lists. Default: none. */
  readonly serviceOrigins?: readonly string[]
}

/** One account of the device. */
export interface SignetClient extends NativeIdentity {
  /** Opens the messenger of the signed-in user. At most one is open. */
  openMessenger(options: ReactNativeMessengerOptions): Promise<ReactNativeMessenger>
  /**
   * Reads the messages that the messenger has not processed, and stores none of them. It needs no open messenger.
   *
   * After any failure the result is "newMessages". It ends within 10 seconds.
   */
  peek(request: PeekRequest): Promise<Peeked>
  /** Ends running calls, and wipes the memory of the native side. Stored data stays. */
  close(): Promise<void>
}

/** @throws SignetError, SecretBoxError, CoreError */
export async function openSignetWith(native: NativeCore, options: ReactNativeOptions): Promise<SignetClient> {
  const { account = "default", serviceOrigins = [], ...config } = options
  const { appId, authBaseUrl, providers, audiences = [], authAudience = "", platform = "", redirectUri = "" } = config
  const identity = { appId, authBaseUrl, authAudience, platform, redirectUri }
  const lists = { providers: [...providers], audiences: [...audiences], serviceOrigins: [...serviceOrigins] }
  const client = await openNativeClient(native, { account, identity: { ...identity, ...lists } }).catch(
    (error: unknown) => {
      throw toClientError(error)
    },
  )
  try {
    const signedIn = await openIdentity(client)
    return {
      ...signedIn,
      get current() {
        return signedIn.current
      },
      openMessenger: (given) => openMessenger(client, given),
      peek: (request) => peekOver(client, request),
      close: client.close,
    }
  } catch (error) {
    await client.close()
    throw error
  }
}
