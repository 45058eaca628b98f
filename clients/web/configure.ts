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
import { createIdbShelf } from "./idb-shelf.ts"
import { followPage } from "./lifecycle.ts"
import { besidePage } from "./loopback.ts"
import { createPageSignIn, type PageSignIn } from "./page-sign-in.ts"
import { createWebLock } from "./web-lock.ts"

export interface WebConfig extends SignetConfig {
  /**
   * Where the refresh token is. Default: a cookie that no script can read, for which the auth service must be under the
   * app's own site. A box is the choice of an app whose auth service is elsewhere.
   */
  readonly refreshToken?: RefreshTokenPlace
  /** How calls travel where nothing else is said. Default: Connect. */
  readonly wire?: Wire
  /** The path of the page that calls `handleCallback`; with the origin, a redirect address of each connection. Default: `/callback`. */
  readonly callbackPath?: string
}

/** The identity client with what only a page can do. */
export type WebSignet = Signet & PageSignIn

/**
 * The identity client of a page, or of a worker of the same origin. Nothing is kept where scripts read it plain.
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
    throw new SignetError("CONFIGURATION_INVALID", "signing in needs a page in a secure context")
  }
  const config = { ...given, authBaseUrl: besidePage(given.authBaseUrl) }
  const place = `signet ${config.appId} ${config.authBaseUrl}`
  const signet = createSignet(config, {
    ...{ clock, random, wire, refreshToken },
    shelf: createIdbShelf(),
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
