// Access tokens by audience, in memory only.

export interface AccessToken {
  readonly token: string
  /**
   * The number of the refresh that issued it, as the session record counts: newer tokens have a higher one. Clocks may
   * be set back.
   */
  readonly generation: number
  /** When it was received. Milliseconds. */
  readonly sinceMs: number
  /** The local time until which the service accepts it. Milliseconds. */
  readonly goodUntilMs: number
}

export type AccessTokens = ReadonlyMap<string, AccessToken>

/** A token with less remaining life is not used: the call takes time. Milliseconds. */
const marginMs = 10_000

/** The tokens of an answer, with lifetimes in this machine's clock, which may differ from the service's. */
export function receivedTokens(
  answer: { accessTokens: Readonly<Record<string, string>>; expiresIn: number },
  { generation, nowMs }: { generation: number; nowMs: number },
): AccessTokens {
  const of = { generation, sinceMs: nowMs, goodUntilMs: nowMs + answer.expiresIn * 1_000 }
  return new Map(Object.entries(answer.accessTokens).map(([audience, token]) => [audience, { token, ...of }]))
}

/** The newest generation among the tokens; 0 for none. */
export const newest = (tokens: AccessTokens): number =>
  Math.max(0, ...[...tokens.values()].map(({ generation }) => generation))

/** The token for an audience, if it is valid long enough for a call. */
export function usableToken(tokens: AccessTokens, audience: string, nowMs: number): AccessToken | undefined {
  const found = tokens.get(audience)
  return found !== undefined && nowMs < found.goodUntilMs - marginMs ? found : undefined
}

/**
 * The time of the next refresh: after 70 to 90 percent of the earliest token's life, so that clients that started
 * together do not refresh together.
 *
 * @param chance From 0 to 1.
 */
export function refreshAtMs(tokens: AccessTokens, chance: number): number | undefined {
  const [first] = [...tokens.values()].sort((a, b) => a.goodUntilMs - b.goodUntilMs)
  return first && first.sinceMs + (first.goodUntilMs - first.sinceMs) * (0.7 + 0.2 * chance)
}
