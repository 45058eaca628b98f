// Assembles the client from the platform's ports.
import { createAuthClient, present } from "./auth-calls.ts"
import type { Platform, Signet, SignetConfig } from "./client.ts"
import { SignetError } from "./errors.ts"
import { createLiveSession } from "./live-session.ts"
import { createLogout } from "./logout.ts"
import { createRedirects } from "./redirect/redirects.ts"
import { checkServiceUrl } from "./service-url.ts"
import { createSessionOf } from "./session-of.ts"
import { createSessionStore } from "./session-store.ts"
import { createSignIns } from "./sign-in.ts"

/**
 * @throws SignetError CONFIGURATION_INVALID
 */
export function createSignet(config: SignetConfig, platform: Platform): Signet {
  checkConfig(config)
  const { appId, authBaseUrl, authAudience = "auth" } = config
  const { clock, channel, lock, random } = platform
  const audiences = [...new Set([authAudience, ...(config.audiences ?? [])])]
  const sessions = createSessionStore(config, platform)
  const client = createAuthClient(authBaseUrl, platform)
  const live = createLiveSession({
    ...{ clock, random, lock, sessions, audiences },
    ...(channel && { channel }),
    present: (record, wanted) => present(client, { appId, record, audiences: wanted }),
  })
  const signIns = createSignIns({ config, audiences, client, clock, sessions, live, lock, random })
  const redirects = createRedirects({ config, client, clock, sessions, random, ...signIns })
  const { logout, finish } = createLogout({ config, client, sessions, live, lock })
  const session = createSessionOf({ config, authAudience, live, logout, platform })
  void live.ready.then(finish)
  return {
    session,
    ...signIns,
    ...redirects,
    wake() {
      live.wake()
      void finish()
    },
    suspend: live.suspend,
    close: live.close,
  }
}

const invalid = (what: string) => new SignetError("CONFIGURATION_INVALID", what)

function checkConfig({ appId, authBaseUrl, providers, audiences = [] }: SignetConfig): void {
  if (!/^app_[0-9a-hjkmnp-tv-z]{26}$/.test(appId)) throw invalid("appId is not an app id (app_…)")
  if (providers.length === 0) throw invalid("providers is empty: enable at least one")
  if (audiences.length > 7) throw invalid("audiences has more than seven entries (the limit)")
  checkServiceUrl(authBaseUrl)
}
