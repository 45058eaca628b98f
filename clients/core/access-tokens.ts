// Access tokens, by audience, in memory only.

export interface AccessToken {
  readonly token: string
  /** Of the refresh that it came with, as the record counts them: what is newer has more. Clocks are set back. */
  readonly generation: number
  /** When it was received. Milliseconds. */
  readonly sinceMs: number
  /** The service takes it until then. Milliseconds. */
  readonly goodUntilMs: number
}

export type AccessTokens = ReadonlyMap<string, AccessToken>

/** A token is not handed out with less left than this: the call that it is for takes time. Milliseconds. */
const marginMs = 10_000

/** Tokens as an answer carries them, with their time counted from now on this clock, which need not be the service's. */
export function receivedTokens(
  answer: { accessTokens: Readonly<Record<string, string>>; expiresIn: number },
  { generation, nowMs }: { generation: number; nowMs: number },
): AccessTokens {
  const of = { generation, sinceMs: nowMs, goodUntilMs: nowMs + answer.expiresIn * 1_000 }
  return new Map(Object.entries(answer.accessTokens).map(([audience, token]) => [audience, { token, ...of }]))
}

/** The newest generation among them; 0 for none. */
export const newest = (tokens: AccessTokens): number =>
  Math.max(0, ...[...tokens.values()].map(({ generation }) => generation))

/** The token for an audience, if it is still good for a call. */
export function usableToken(tokens: AccessTokens, audience: string, nowMs: number): AccessToken | undefined {
  const found = tokens.get(audience)
  return found !== undefined && nowMs < found.goodUntilMs - marginMs ? found : undefined
}

/**
 * When to refresh: after 70 to 90 percent of the tokens' life, so that many clients that began together do not come back
 * together.
 *
 * @param chance From 0 to 1.
 */
export function refreshAtMs(tokens: AccessTokens, chance: number): number | undefined {
  const [first] = [...tokens.values()].sort((a, b) => a.goodUntilMs - b.goodUntilMs)
  return first && first.sinceMs + (first.goodUntilMs - first.sinceMs) * (0.7 + 0.2 * chance)
}
