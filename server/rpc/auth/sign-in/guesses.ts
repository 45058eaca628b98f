// Counts password attempts against the limits for guesses.
import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { emailKey } from "@signet/kernel/identity/first-login"
import { encode } from "../../base64url.ts"
import type { Deps } from "../../deps.ts"
import { failed, type Guessed, giveBack, limit, limited, networkOf, type Subjects } from "../../limit.ts"

/** The key under which attempts for an address count: a keyed hash, whether or not the address has an account. */
export const emailSubject = (deps: Deps, email: string): string => encode(deps.secrets.hash("email", emailKey(email)))

/**
 * Runs `work`, which presents a password of this address, and counts it: against a known device's own limit, otherwise
 * against the limit that all other callers share. Only a wrong password stays counted, so the remaining attempts do not
 * reveal the owner's sign-ins.
 *
 * @param device The id of a valid device token of this address.
 * @throws Refused RATE_LIMITED, LOCKED_OUT, and the refusals of `work`.
 */
export async function countingGuesses<T>(
  deps: Deps,
  context: HandlerContext,
  { email, device }: { email: string; device: string | undefined },
  work: () => Promise<T>,
): Promise<T> {
  const guessed: Guessed = { of: "email", subject: emailSubject(deps, email) }
  const counted = await countAttempt(deps, context, guessed, device)
  try {
    const done = await work()
    await giveBack(deps, "login_email", counted)
    return done
  } catch (error) {
    const isGuess = error instanceof Refused && error.reason === "INVALID_CREDENTIALS"
    if (!isGuess) await giveBack(deps, "login_email", counted)
    // A device has too few attempts to need a lockout.
    else if (counted.device_token === undefined) await failed(deps, context, guessed)
    throw error
  }
}

/**
 * Counts the attempt; returns the counted subjects. Where the limits of devices are exceeded, counts as an unknown
 * caller.
 */
async function countAttempt(
  deps: Deps,
  context: HandlerContext,
  guessed: Guessed,
  device: string | undefined,
): Promise<Subjects<"login_email">> {
  const ip = networkOf(context)
  if (device === undefined) {
    await limit(deps, context, "login_email", { ip }, { lock: guessed })
  } else {
    await limit(deps, context, "login_email", { ip })
    const ofDevice = { device_token: device, device_tokens: guessed.subject }
    if ((await limited(deps, context, "login_email", ofDevice)) === undefined) return ofDevice
    await limit(deps, context, "login_email", {}, { lock: guessed })
  }
  const ofEmail = { email: guessed.subject }
  await limit(deps, context, "login_email", ofEmail)
  return ofEmail
}
