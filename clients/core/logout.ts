// Signs out: locally at once and in any case, at the service as soon as it is reachable.
import { type AuthClient, callOptions } from "./auth-calls.ts"
import type { Platform, SignetConfig } from "./client.ts"
import { SignetError } from "./errors.ts"
import type { LiveSession } from "./live-session.ts"
import type { SessionStore } from "./session-store.ts"

interface LogoutDeps extends Pick<Platform, "lock"> {
  readonly config: Pick<SignetConfig, "appId">
  readonly client: AuthClient
  readonly sessions: SessionStore
  readonly live: LiveSession
}

export interface Logout {
  logout(): Promise<{ readonly endedAtService: boolean }>
  /** Ends a session at the service that an earlier sign-out could not end. Never throws. */
  finish(): Promise<void>
}

const note = "logout"

export function createLogout(deps: LogoutDeps): Logout {
  const { client, sessions, live, lock } = deps

  async function end(): Promise<{ endedAtService: boolean }> {
    const kept = await sessions.load().catch(() => undefined)
    const isAnybody = kept !== undefined || live.states.current.is === "signedIn"
    const endedAtService = isAnybody && (await endAtService(deps, kept?.record.refreshToken))
    // No script can delete the cookie: it stays a credential until the service has ended its session.
    if (client.isCookie && isAnybody && !endedAtService)
      await sessions.putNote(note, { is: "due" }).catch(() => undefined)
    await sessions.remove("any")
    return { endedAtService }
  }

  async function finish(): Promise<void> {
    if (!client.isCookie || (await sessions.loadNote(note)) === undefined) return
    await lock.run(async () => {
      if ((await sessions.loadNote(note)) === undefined) return
      // A later sign-in has replaced the cookie.
      const isOver = (await sessions.load()) !== undefined || (await endAtService(deps, undefined))
      if (isOver) await sessions.removeNote(note)
    })
  }

  return {
    async logout() {
      try {
        // A lock that is held for too long does not prevent a sign-out.
        return await lock.run(end).catch((error: unknown) => {
          if (error instanceof SignetError && error.reason === "LOCK_BUSY") return end()
          throw error
        })
      } finally {
        live.end("LOGGED_OUT")
      }
    },
    finish: () => finish().catch(() => undefined),
  }
}

/** @returns True if the service confirmed that the session has ended. */
export async function endAtService(
  { client, config: { appId } }: Pick<LogoutDeps, "client" | "config">,
  refreshToken: string | undefined,
): Promise<boolean> {
  const which = client.isCookie ? { appId } : { refreshToken: refreshToken ?? "" }
  return client.logout(which, callOptions).then(
    () => true,
    () => false,
  )
}
