import { createClient, type Transport } from "@connectrpc/connect"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { answered } from "./auth-calls.ts"
import type { Platform, SignetConfig } from "./client.ts"
import { SignetError } from "./errors.ts"
import type { LiveSession } from "./live-session.ts"
import { checkServiceUrl } from "./service-url.ts"
import type { Session, TransportOptions } from "./session.ts"
import { createSessionTransport } from "./transport.ts"

interface SessionDeps {
  readonly config: SignetConfig
  readonly authAudience: string
  readonly live: LiveSession
  readonly platform: Platform
  readonly logout: Session["logout"]
}

/** The session as apps see it. Only closures hold tokens, so no print or copy of the object contains them. */
export function createSessionOf(deps: SessionDeps): Session {
  const { config, authAudience, live, logout, platform } = deps

  function transport({
    audience = authAudience,
    baseUrl = config.authBaseUrl,
    wire = platform.wire,
  }: TransportOptions = {}): Transport {
    checkServiceUrl(baseUrl)
    if (audience === authAudience && baseUrl !== config.authBaseUrl) {
      // A service with the auth service's token could act as the user there.
      throw new SignetError("CONFIGURATION_INVALID", "a transport to another service needs that service's audience")
    }
    const { clock, fetch: send } = platform
    // The token is the only credential: on the page's own origin, the auth service's cookie is not sent.
    const fetch: typeof send = send && ((input, init) => send(input, { ...init, credentials: "omit" }))
    return createSessionTransport({
      inner: wire({ baseUrl, ...(fetch && { fetch }) }),
      clock,
      token: (refused) => live.token(audience, refused),
    })
  }

  return {
    get current() {
      return live.states.current
    },
    ready: live.ready,
    subscribe: (listener) => live.states.subscribe(listener),
    [Symbol.asyncIterator]: () => live.states.iterate(),
    accessToken: async (audience = authAudience) => (await live.token(audience)).token,
    renewedToken: async (audience = authAudience) => (await live.renewedToken(audience)).token,
    transport,
    logout,
    async logoutAll({ exceptCurrent = false } = {}) {
      const { revokedSessions } = await answered(createClient(AuthService, transport()).logoutAll({ exceptCurrent }))
      if (!exceptCurrent) await logout()
      return revokedSessions
    },
  }
}
