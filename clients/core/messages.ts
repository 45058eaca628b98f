// The messages between the tabs of one client: tokens, so that one refresh serves all tabs, and changes of the session.
import type { AccessToken, AccessTokens } from "./access-tokens.ts"
import type { LoggedOutReason } from "./errors.ts"
import { isText, objectOf } from "./record.ts"

export type Message =
  /** Asks tabs with valid tokens of this session to send them. */
  | { readonly is: "ask"; readonly sessionId: string }
  | { readonly is: "tokens"; readonly sessionId: string; readonly tokens: AccessTokens }
  /** A user has signed in. */
  | { readonly is: "signedIn" }
  | { readonly is: "ended"; readonly sessionId: string; readonly reason: LoggedOutReason }

/** Tabs ignore messages of another version. */
const version = 1

export function encodeMessage(message: Message): unknown {
  return { version, ...message, ...(message.is === "tokens" && { tokens: [...message.tokens] }) }
}

/** @returns Undefined for a message that this version did not post. */
export function parseMessage(value: unknown): Message | undefined {
  const { version: theirs, is, sessionId, tokens, reason } = objectOf(value)
  if (theirs !== version) return undefined
  if (is === "signedIn") return { is }
  if (!isText(sessionId)) return undefined
  if (is === "ask") return { is, sessionId }
  if (is === "ended" && isText(reason)) return { is, sessionId, reason: reason as LoggedOutReason }
  if (is !== "tokens" || !Array.isArray(tokens)) return undefined
  const entries = tokens.map(parseEntry)
  return entries.some((entry) => entry === undefined)
    ? undefined
    : { is, sessionId, tokens: new Map(entries.filter((entry) => entry !== undefined)) }
}

function parseEntry(entry: unknown): [string, AccessToken] | undefined {
  if (!Array.isArray(entry)) return undefined
  const [audience, value]: unknown[] = entry
  const { token, generation, sinceMs, goodUntilMs } = objectOf(value)
  if (!isText(audience) || !isText(token)) return undefined
  if (!isNumber(generation) || !isNumber(sinceMs) || !isNumber(goodUntilMs)) return undefined
  return [audience, { token, generation, sinceMs, goodUntilMs }]
}

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value)
