// Clients that guess: a failed proof counts against the client that it names and the network that it came from.
import type { HandlerContext } from "@connectrpc/connect"
import type { Refused } from "@signet/kernel/errors"
import { failed, type Guessed } from "../limit.ts"
import { claimedClientOf } from "./client-assertion.ts"
import type { ClientCredential } from "./client-credential.ts"
import type { TokenDeps } from "./deps.ts"

/** The client whose lock stands in the way: the one that the credential names, proved or not. */
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
 * Counts the refusal if it is of the client's proof.
 *
 * @throws Refused always: the refusal, or RATE_LIMITED in place of it while the client is locked for this network.
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
