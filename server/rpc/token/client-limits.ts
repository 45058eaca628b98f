// Limits guesses at client credentials: a failed proof counts against the named client and the caller's network.
import type { HandlerContext } from "@connectrpc/connect"
import type { Refused } from "@signet/kernel/errors"
import { failed, type Guessed } from "../limit.ts"
import { claimedClientOf } from "./client-assertion.ts"
import type { ClientCredential } from "./client-credential.ts"
import type { TokenDeps } from "./deps.ts"

/** The lockout to check: of the client that the credential names, proved or not. */
export function lockOf(credential: ClientCredential): { lock?: Guessed } {
  switch (credential.is) {
    case "secret":
      return { lock: { of: "client", subject: credential.clientId } }
    case "assertion":
      return { lock: { of: "client", subject: credential.clientId || claimedClientOf(credential.assertion) } }
    case "none":
    case "bearer":
      return {}
  }
}

/**
 * Counts the refusal if the client's proof failed.
 *
 * @throws Refused always: the refusal, or RATE_LIMITED while the client is locked for this network.
 */
export async function throwCounted(
  deps: TokenDeps,
  context: HandlerContext,
  credential: ClientCredential,
  refused: Refused,
): Promise<never> {
  const { lock } = lockOf(credential)
  if (refused.reason === "CLIENT_INVALID" && lock !== undefined) await failed(deps, context, lock)
  throw refused
}
