import {
  connect,
  createSignet,
  type RefreshTokenPlace,
  type Signet,
  type SignetConfig,
  SignetError,
  type Wire,
} from "@signet/client"
import { createBroadcast } from "./broadcast.ts"
import { clock, random } from "./environment.ts"
import { explainedFetch } from "./explained-fetch.ts"
import { createIdbStorage } from "./idb-storage.ts"
import { followPage } from "./lifecycle.ts"
import { besidePage } from "./loopback.ts"
import { createPageSignIn, type PageSignIn } from "./page-sign-in.ts"
import { createWebLock } from "./web-lock.ts"

export interface WebConfig extends SignetConfig {
  /**
   * Where the refresh token is stored. Default: a cookie that scripts cannot read, which requires the auth service on
   * the app's own site. Use a box if the auth service is elsewhere.
   */
  readonly refreshToken?: RefreshTokenPlace
  /** The default protocol of calls. Default: Connect. */
  readonly wire?: Wire
  /**
   * The path of the page that calls `handleCallback`; with the origin, a redirect URI of each connection. Default:
   * `/callback`.
   */
  readonly callbackPath?: string
}

/** The identity client with the page's sign-in functions. */
export type WebSignet = Signet & PageSignIn

/**
 * The identity client of a page, or of a worker of the same origin. Scripts can read no stored secret in plaintext.
 *
 * @throws SignetError CONFIGURATION_INVALID, also in a page that is not in a secure context.
 */
export function configure({
  refreshToken = { in: "cookie" },
  wire = connect,
  callbackPath = "/callback",
  ...given
}: WebConfig): WebSignet {
  if (!globalThis.isSecureContext) {
    throw new SignetError("CONFIGURATION_INVALID", "a sign-in requires a secure context (https or localhost)")
  }
  const config = { ...given, authBaseUrl: besidePage(given.authBaseUrl) }
  const place = `signet ${config.appId} ${config.authBaseUrl}`
  const signet = createSignet(config, {
    ...{ clock, random, wire, refreshToken },
    storage: createIdbStorage(),
    lock: createWebLock(place),
    channel: createBroadcast(place),
    fetch: explainedFetch(config.authBaseUrl),
  })
  const unfollow = followPage(signet)
  const page = createPageSignIn({ signet, place, callbackPath })
  return {
    ...signet,
    ...page,
    close() {
      unfollow()
      page.close()
      signet.close()
    },
  }
}
