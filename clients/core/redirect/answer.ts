// Parses a provider's callback. The address is untrusted: anybody may have made it up.
import { SignetError } from "../errors.ts"
import type { Pending } from "./pending.ts"

export interface Answer {
  readonly state: string
  /** RFC 9207. */
  readonly issuer: string | undefined
  readonly code: string | undefined
  /** RFC 6749 section 4.1.2.1. */
  readonly error: string | undefined
}

export const forged = (): SignetError =>
  new SignetError(
    "CALLBACK_INVALID",
    "the callback matches no pending sign-in of this browser, which expires after ten minutes: sign in again",
  )

/**
 * @returns Undefined for an address that is no provider's callback.
 * @throws SignetError CALLBACK_INVALID for an ambiguous one.
 */
export function parseAnswer(address: string): Answer | undefined {
  const { searchParams } = new URL(address)
  const one = (name: string) => {
    const [value, ...more] = searchParams.getAll(name)
    if (more.length > 0) throw forged()
    return value === "" ? undefined : value
  }
  const answer = { state: one("state"), issuer: one("iss"), code: one("code"), error: one("error") }
  if (answer.code === undefined && answer.error === undefined) return undefined
  if (answer.state === undefined) throw forged()
  return { ...answer, state: answer.state }
}

/**
 * The authorization code, after checking that the callback is from the requested provider and at the requested redirect
 * URI.
 *
 * @throws SignetError CALLBACK_INVALID, CALLBACK_ISSUER_MISMATCH, PROVIDER_REFUSED
 */
export function codeOf({ issuer, code, error }: Answer, address: string, pending: Pending): string {
  const { returnTo } = pending
  const [path] = address.split(/[?#]/)
  if (path !== pending.redirectUri) throw forged()
  // Checked first: another provider's error is not an answer either (RFC 9207 section 2.4).
  const isRight = issuer === undefined ? !pending.requiresIssuer : pending.issuers.includes(issuer)
  if (!isRight) {
    throw new SignetError(
      "CALLBACK_ISSUER_MISMATCH",
      issuer === undefined
        ? "the callback has no iss parameter, which this provider always sends (RFC 9207): sign in again"
        : "the callback is from another issuer than the requested provider: sign in again",
      { metadata: { returnTo } },
    )
  }
  if (code !== undefined && error === undefined) return code
  const name = /^[!-~]{1,64}$/.test(error ?? "") ? (error ?? "") : "unknown"
  const message = `the provider rejected the sign-in: ${name}`
  throw new SignetError("PROVIDER_REFUSED", message, { metadata: { error: name, returnTo } })
}
