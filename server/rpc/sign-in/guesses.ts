// Passwords are shown where guesses are counted.
import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { emailKey } from "@signet/kernel/identity/first-login"
import { encode } from "../base64url.ts"
import type { Deps } from "../deps.ts"
import { isKnownNetwork, rememberNetwork } from "../known-networks.ts"
import { failed, type Guessed, limit, limited, networkOf } from "../limit.ts"

/** Whom an email is counted as: a keyed hash, the same whether anybody has it. */
export const emailSubject = (deps: Deps, email: string): string => encode(deps.secrets.hash("email", emailKey(email)))

/**
 * Does what shows the password of this address, and counts it.
 *
 * @throws Refused RATE_LIMITED, LOCKED_OUT, and what the work throws.
 */
export async function countingGuesses<T>(
  deps: Deps,
  context: HandlerContext,
  email: string,
  work: () => Promise<T>,
): Promise<T> {
  const guessed: Guessed = { of: "email", subject: emailSubject(deps, email) }
  await limitPassword(deps, context, guessed)
  try {
    const done = await work()
    await rememberNetwork(deps, context, guessed.subject)
    return done
  } catch (error) {
    const isGuess = error instanceof Refused && error.reason === "INVALID_CREDENTIALS"
    if (isGuess) await failed(deps, context, guessed)
    throw error
  }
}

/** A stranger uses up the email's calls for strangers alone: not where its owner has signed in before. */
async function limitPassword(deps: Deps, context: HandlerContext, guessed: Guessed): Promise<void> {
  await limit(deps, context, "login_email", { ip: networkOf(context) }, { lock: guessed })
  const refused = await limited(deps, context, "login_email", { email: guessed.subject })
  if (refused !== undefined && !(await isKnownNetwork(deps, context, guessed.subject))) throw refused
}
