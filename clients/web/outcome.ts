// The message of a pop-up to the page that opened it, over a channel of their origin. Its state is used up and so is no
// secret.
import type { FailureReason } from "@signet/client"

export type Outcome =
  /** The session is in the store that both read. */
  | { readonly is: "signedIn"; readonly state: string; readonly sessionId: string; readonly created: boolean }
  | {
      readonly is: "failed"
      readonly state: string
      readonly reason: FailureReason
      readonly message: string
      readonly metadata: Readonly<Record<string, string>>
    }

const version = 1

export const encodeOutcome = (outcome: Outcome): unknown => ({ version, ...outcome })

/** @returns Undefined for a message that this version did not post. */
export function parseOutcome(value: unknown): Outcome | undefined {
  const { version: theirs, is, state, ...rest }: Record<string, unknown> = Object(value)
  const { sessionId, created, reason, message, metadata } = rest
  if (theirs !== version || typeof state !== "string") return undefined
  if (is === "signedIn" && typeof sessionId === "string") return { is, state, sessionId, created: created === true }
  if (is !== "failed" || typeof reason !== "string" || typeof message !== "string") return undefined
  const texts = Object.entries(Object(metadata)).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  )
  return { is, state, reason: reason as FailureReason, message, metadata: Object.fromEntries(texts) }
}
