// The calls of the auth service that carry a credential in themselves, and what they answer, checked.
import { Code, ConnectError, createClient } from "@connectrpc/connect"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import type { Platform } from "./client.ts"
import { failureOf, SignetError } from "./errors.ts"
import type { SessionRecord } from "./record.ts"

/** For the whole of a call. */
export const callOptions = { timeoutMs: 15_000 }

/** What a sign-in or a refresh gives. */
export interface Tokens {
  /** Absent where a cookie carries it. */
  readonly refreshToken: string | undefined
  /** By audience. */
  readonly accessTokens: Readonly<Record<string, string>>
  /** Seconds. */
  readonly expiresIn: number
}

export type AuthClient = ReturnType<typeof createAuthClient>

/** Cookies go along, and come back, with these calls and no others. */
export function createAuthClient(baseUrl: string, { refreshToken, wire, fetch }: Platform) {
  const isCookie = refreshToken.in === "cookie"
  const send = fetch ?? globalThis.fetch
  const transport = wire({
    baseUrl,
    fetch: (input, init) => {
      const headers = new Headers(init?.headers)
      // No form can send it, so a page of another origin asks the service first (Fetch standard, CORS protocol).
      if (isCookie) headers.set("x-signet-client", "web")
      return send(input, { ...init, headers, credentials: isCookie ? "include" : "omit" })
    },
  })
  return { isCookie, ...createClient(AuthService, transport) }
}

/** Trades the refresh token, with its retry key, for the next. */
export async function present(
  client: AuthClient,
  of: { appId: string; record: SessionRecord; audiences: readonly string[] },
): Promise<Tokens> {
  const { refreshToken = "", retryKey } = of.record
  const answer = await answered(
    client.refresh(
      { refreshToken, retryKey, audiences: [...of.audiences], ...(client.isCookie && { appId: of.appId }) },
      callOptions,
    ),
  )
  if (client.isCookie && answer.session?.id !== of.record.user.sessionId) {
    // Of somebody whose sign-in was never written down: it took the place of the cookie that was.
    await client.logout({ appId: of.appId }, callOptions).catch(() => undefined)
    throw new SignetError("REFRESH_TOKEN_INVALID", "the cookie is of another sign-in")
  }
  return checkTokens(client, answer)
}

/** @throws SignetError ANSWER_INVALID for one that a session could not live on. */
export function checkTokens(client: AuthClient, answer: Tokens): Tokens {
  const { refreshToken, accessTokens, expiresIn } = answer
  if (expiresIn <= 0 || Object.keys(accessTokens).length === 0 || !refreshToken !== client.isCookie) {
    throw new SignetError("ANSWER_INVALID", "the service answered without the tokens that were asked for")
  }
  return { refreshToken: refreshToken || undefined, accessTokens, expiresIn }
}

/** The answer, or a SignetError. */
export async function answered<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    throw signetErrorOf(error)
  }
}

/** What a call failed with. Without a reason of the service it was a proxy's answer or none: nothing ends for that. */
export function signetErrorOf(error: unknown): SignetError {
  if (error instanceof SignetError) return error
  const failure = failureOf(error)
  const { code, rawMessage } = ConnectError.from(error)
  if (failure !== undefined) {
    const { metadata, retryAfterMs } = failure
    return new SignetError(failure.reason, rawMessage, { code: failure.code, metadata, retryAfterMs, cause: error })
  }
  if (code === Code.Canceled) return new SignetError("CANCELED", "the call was called off", { cause: error })
  return new SignetError("UNREACHABLE", "the service did not answer", { cause: error })
}
