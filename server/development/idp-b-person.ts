// Users of the stand-in for IDP_B. It accepts any claimed identity.
import { createHash } from "node:crypto"
import { teamId } from "./idp-b-clients.ts"
import { type Person, parsePerson } from "./person.ts"

export interface IdpBPerson extends Person {
  /** The user hides the address: apps get a relay address. */
  hidesEmail: boolean
}

/** Same as parsePerson, with `hidesEmail`. */
export function parseIdpBPerson(fields: Record<string, unknown>): IdpBPerson | undefined {
  const { hidesEmail = false, ...rest } = fields
  const person = parsePerson(rest)
  return person === undefined || typeof hidesEmail !== "boolean" ? undefined : { ...person, hidesEmail }
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")

/** Constant for a user in all apps of a team; differs between teams. */
export function idpBSubjectOf({ email }: Person): string {
  const hash = sha256(`idp-b|${teamId}|${email}`)
  const digits = hash.replace(/[a-f]/g, "")
  return `${digits.slice(0, 6)}.${hash.slice(0, 32)}.${digits.slice(6, 10)}`
}

/** Claims of the identity token. Booleans are strings, and a hidden address is replaced by a relay address. */
export function idpBClaimsOf(person: IdpBPerson): Record<string, unknown> {
  return person.hidesEmail
    ? { email: relayAddressOf(person), email_verified: "true", is_private_email: "true" }
    : { email: person.email, email_verified: "true" }
}

function relayAddressOf({ email }: Person): string {
  return `${sha256(`relay|${teamId}|${email}`).slice(0, 10)}@privaterelay.idp-b.invalid`
}

/** Data that only the first authorization includes, unsigned and outside the token. */
export function firstAuthorizationOf(person: IdpBPerson): {
  name: { firstName: string; lastName: string }
  email: string
} {
  const [firstName = "", ...rest] = person.name.split(" ")
  return {
    name: { firstName, lastName: rest.join(" ") },
    email: person.hidesEmail ? relayAddressOf(person) : person.email,
  }
}
