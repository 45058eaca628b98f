import type { Clock } from "@signet/kernel/ports"
import { fetchText, StatusError } from "./fetch-text.ts"
import { createSharedRun } from "./shared-run.ts"

export interface ServiceTokenOptions {
  /** The issuer's token endpoint. Configured, never from a request or a token. */
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  readonly audience: string
  /** Separated by spaces. */
  readonly scope: string
  readonly fetch: typeof fetch
  readonly clock: Clock
}

/** Runs a call with the token. After a 401 it retries once with another token. */
export async function withToken<T>(token: ServiceToken, call: (token: string) => Promise<T>): Promise<T> {
  const first = await token()
  try {
    return await call(first)
  } catch (error) {
    if (!(error instanceof StatusError) || error.status !== 401) throw error
    return call(await token(first))
  }
}

/** @param refused A token that was rejected. Its key or credential may be revoked, so a new one is requested. */
export type ServiceToken = (refused?: string) => Promise<string>

/** A token is renewed this long before it expires. */
const renewBeforeMs = 30_000
const limits = { timeoutMs: 5_000, maxBytes: 65_536 }

/**
 * A service's own access token (client_credentials). Requested if there is none or it is about to expire.
 *
 * @throws Error (rejects) if the issuer issues none.
 */
export function createServiceToken(options: ServiceTokenOptions): ServiceToken {
  const { url, clientId, clientSecret, audience, scope, clock } = options
  let held: { readonly token: string; readonly untilMs: number } | undefined
  const shared = createSharedRun<string>(clock, limits.timeoutMs)

  async function ask(): Promise<string> {
    const askedAtMs = clock.nowMs()
    const text = await fetchText(options.fetch, url, limits, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({
        grant_type: "client_credentials",
        client_id: clientId,
        client_secret: clientSecret,
        audience,
        scope,
      }).toString(),
    })
    const answer: { access_token?: unknown; expires_in?: unknown } | null = JSON.parse(text)
    const { access_token: token, expires_in: seconds } = answer ?? {}
    if (typeof token !== "string" || typeof seconds !== "number") throw new Error("no token answer")
    held = { token, untilMs: askedAtMs + seconds * 1_000 - renewBeforeMs }
    return token
  }

  return async (refused) => {
    if (held !== undefined && held.token === refused) held = undefined
    if (held !== undefined && clock.nowMs() < held.untilMs) return held.token
    return shared("", ask)
  }
}
