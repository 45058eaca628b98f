// What a provider sends back, read without believing it: it is an address that anybody may have made up.
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
    "this answers no sign-in that this browser began and has not finished within ten minutes: sign in again",
  )

/**
 * @returns Undefined for an address that is no answer of a provider.
 * @throws SignetError CALLBACK_INVALID for one that could be read in two ways.
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
 * The code, from the provider that the browser was sent to and at the address that it was to come back to.
 *
 * @throws SignetError CALLBACK_INVALID, CALLBACK_ISSUER_MISMATCH, PROVIDER_REFUSED
 */
export function codeOf({ issuer, code, error }: Answer, address: string, pending: Pending): string {
  const { returnTo } = pending
  const [path] = address.split(/[?#]/)
  if (path !== pending.redirectUri) throw forged()
  // Before anything else of the answer counts: another provider's error is no answer, either (RFC 9207 section 2.4).
  const isRight = issuer === undefined ? !pending.requiresIssuer : pending.issuers.includes(issuer)
  if (!isRight) {
    throw new SignetError(
      "CALLBACK_ISSUER_MISMATCH",
      issuer === undefined
        ? "the answer does not name its issuer, and this provider always does (RFC 9207): sign in again"
        : "the answer is another issuer's than the one that was asked: sign in again",
      { metadata: { returnTo } },
    )
  }
  if (code !== undefined && error === undefined) return code
  const name = /^[!-~]{1,64}$/.test(error ?? "") ? (error ?? "") : "unknown"
  const message = `the provider did not sign anybody in: ${name}`
  throw new SignetError("PROVIDER_REFUSED", message, { metadata: { error: name, returnTo } })
}
