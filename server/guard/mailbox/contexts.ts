// Requests a sending service's context tokens and the certificate of its key from the issuer, and caches valid ones.
import type { AuthContext } from "@signet/kernel/authz/context"
import { sessionOf } from "@signet/kernel/authz/liveness"
import type { Clock } from "@signet/kernel/ports"
import { accessTokenType, contextTokenType, tokenExchange } from "@signet/kernel/token/grant"
import { fetchText, StatusError } from "../fetch-text.ts"

export interface ContextsOptions {
  /** The issuer's base URL. Configured, never from a request or a token. */
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: string
  /** This service's own access token for the issuer, for certificates. */
  readonly token: () => Promise<string>
  readonly fetch: typeof fetch
  readonly clock: Clock
  /** Maximum number of context tokens in memory. 10,000. */
  readonly cacheSize?: number
}

/** Input for a sender's `seal`. */
interface HeldContext {
  readonly contextToken: string
  readonly scopes: readonly string[]
}

export interface Contexts {
  /**
   * Returns a context token for a caller. One request per session, and another after authority has changed.
   *
   * @param caller As the guard authenticated it.
   * @param accessToken The caller's access token.
   */
  of(caller: AuthContext, accessToken: string): Promise<HeldContext>
  /** Returns the service's own context token. */
  own(): Promise<HeldContext>
  /**
   * Returns the certificate of an envelope key, for a sender's `certificate` and a mailbox's `findCertificate`;
   * undefined if there is none.
   */
  certificate(kid: string): Promise<string | undefined>
}

interface Kept<Value> {
  readonly value: Value
  readonly untilMs: number
}

const limits = { timeoutMs: 5_000, maxBytes: 65_536 }

/** @returns Methods that reject if the issuer refuses or does not answer. */
export function createContexts(options: ContextsOptions): Contexts {
  const { baseUrl, clientId, clientSecret, clock, cacheSize = 10_000 } = options
  const contexts = new Map<string, Kept<Promise<HeldContext>>>()
  const certificates = new Map<string, Kept<string>>()

  async function ask(form: Record<string, string>): Promise<HeldContext & { readonly seconds: number }> {
    const credential = { client_id: clientId, client_secret: clientSecret, requested_token_type: contextTokenType }
    const text = await fetchText(options.fetch, `${baseUrl}/auth/token`, limits, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ ...form, ...credential }).toString(),
    })
    const { access_token: contextToken, scope, expires_in: seconds } = objectIn(text)
    if (typeof contextToken !== "string" || typeof scope !== "string" || typeof seconds !== "number") {
      throw new Error("the response has no context token")
    }
    return { contextToken, scopes: scope.split(" ").filter((one) => one !== ""), seconds }
  }

  /** Concurrent callers share one request; a failed one is not cached. */
  function held(key: string, form: Record<string, string>): Promise<HeldContext> {
    const nowMs = clock.nowMs()
    const known = contexts.get(key)
    if (known !== undefined && nowMs < known.untilMs) return known.value
    const value = ask(form)
    makeRoom(contexts, cacheSize)
    contexts.set(key, { value, untilMs: nowMs + limits.timeoutMs })
    value.then(
      // Used for half its lifetime only: an envelope needs time for delivery.
      ({ seconds }) => contexts.set(key, { value, untilMs: nowMs + (seconds * 1_000) / 2 }),
      () => contexts.delete(key),
    )
    return value
  }

  return {
    of: (caller, accessToken) =>
      held(keyOf(caller), {
        grant_type: tokenExchange,
        subject_token: accessToken,
        subject_token_type: accessTokenType,
      }),

    own: () => held("own", { grant_type: "client_credentials" }),

    async certificate(kid) {
      const known = certificates.get(kid)
      if (known !== undefined && clock.nowMs() < known.untilMs) return known.value
      const headers = { authorization: `Bearer ${await options.token()}` }
      const url = `${baseUrl}/auth/envelope-certificates/${encodeURIComponent(kid)}`
      const text = await fetchText(options.fetch, url, limits, { headers }).catch((error: unknown) => {
        if (error instanceof StatusError && error.status === 404) return undefined
        throw error
      })
      if (text === undefined) return undefined
      const { certificate } = objectIn(text)
      if (typeof certificate !== "string") throw new Error("no certificate in the answer")
      makeRoom(certificates, cacheSize)
      certificates.set(kid, { value: certificate, untilMs: clock.nowMs() + certificateKeptMs })
      return certificate
    },
  }
}

/** Limited, because a revoked key must lose its certificate. */
const certificateKeptMs = 300_000

/** Every part of the subject that a context token depends on. */
function keyOf(caller: AuthContext): string {
  const { principal, appId, tenantId, contextId, actor, scopes, permVer, audience, credentialId } = caller
  const who = [principal.id, sessionOf(caller), actor?.id, credentialId, caller.delegation?.jobId]
  return JSON.stringify([who, appId, tenantId, contextId, audience, permVer, [...scopes].sort()])
}

function makeRoom(kept: Map<string, unknown>, cacheSize: number): void {
  for (const oldest of kept.keys()) {
    if (kept.size < cacheSize) return
    kept.delete(oldest)
  }
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(text)
  return typeof value === "object" && value !== null ? { ...value } : {}
}
