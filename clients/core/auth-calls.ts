// The auth service's calls that contain a credential, and the checks of their answers.
import { Code, ConnectError, createClient } from "@connectrpc/connect"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import type { Platform } from "./client.ts"
import { failureOf, SignetError } from "./errors.ts"
import type { SessionRecord } from "./record.ts"

/** Limits the whole call. */
export const callOptions = { timeoutMs: 15_000 }

/** The tokens of a sign-in or refresh. */
export interface Tokens {
  /** Absent if a cookie contains it. */
  readonly refreshToken: string | undefined
  /** By audience. */
  readonly accessTokens: Readonly<Record<string, string>>
  /** Seconds. */
  readonly expiresIn: number
}

export type AuthClient = ReturnType<typeof createAuthClient>

/** The auth service's client. Only its calls send and receive cookies. */
export function createAuthClient(baseUrl: string, { refreshToken, wire, fetch }: Platform) {
  const isCookie = refreshToken.in === "cookie"
  const send = fetch ?? globalThis.fetch
  const transport = wire({
    baseUrl,
    fetch: (input, init) => {
      const headers = new Headers(init?.headers)
      // A form cannot send it, so a cross-origin page needs a preflight (Fetch standard, CORS protocol).
      if (isCookie) headers.set("x-signet-client", "web")
      return send(input, { ...init, headers, credentials: isCookie ? "include" : "omit" })
    },
  })
  return { isCookie, ...createClient(AuthService, transport) }
}

/** Exchanges the refresh token, with its retry key, for the next one. */
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
    // The cookie belongs to a sign-in that was never stored: it replaced the earlier cookie.
    await client.logout({ appId: of.appId }, callOptions).catch(() => undefined)
    throw new SignetError("REFRESH_TOKEN_INVALID", "the cookie belongs to another sign-in")
  }
  return checkTokens(client, answer)
}

/** @throws SignetError ANSWER_INVALID for an answer without the tokens that a session needs. */
export function checkTokens(client: AuthClient, answer: Tokens): Tokens {
  const { refreshToken, accessTokens, expiresIn } = answer
  if (expiresIn <= 0 || Object.keys(accessTokens).length === 0 || !refreshToken !== client.isCookie) {
    throw new SignetError("ANSWER_INVALID", "the service answered without the requested tokens")
  }
  return { refreshToken: refreshToken || undefined, accessTokens, expiresIn }
}

/** The call's answer. @throws SignetError for every failure. */
export async function answered<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    throw signetErrorOf(error)
  }
}

/**
 * The SignetError of a failed call. Without a reason of the service, a proxy answered or nobody did, which ends no
 * session.
 */
export function signetErrorOf(error: unknown): SignetError {
  if (error instanceof SignetError) return error
  const failure = failureOf(error)
  const { code, rawMessage } = ConnectError.from(error)
  if (failure !== undefined) {
    const { metadata, retryAfterMs } = failure
    return new SignetError(failure.reason, rawMessage, { code: failure.code, metadata, retryAfterMs, cause: error })
  }
  if (code === Code.Canceled) return new SignetError("CANCELED", "the call was canceled", { cause: error })
  return new SignetError("UNREACHABLE", "the service did not answer", { cause: error })
}
