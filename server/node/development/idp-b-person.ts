// Whom the stand-in for IDP_B vouches for: whoever somebody says that they are.
import { createHash } from "node:crypto"
import { teamId } from "./idp-b-clients.ts"
import { type Person, parsePerson } from "./person.ts"

export interface IdpBPerson extends Person {
  /** The person hides their address: apps see a relay's. */
  hidesEmail: boolean
}

/** As parsePerson, and `hidesEmail`. */
export function parseIdpBPerson(fields: Record<string, unknown>): IdpBPerson | undefined {
  const { hidesEmail = false, ...rest } = fields
  const person = parsePerson(rest)
  return person === undefined || typeof hidesEmail !== "boolean" ? undefined : { ...person, hidesEmail }
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")

/** The same for the same person in all apps of a team, and another in another team's. */
export function idpBSubjectOf({ email }: Person): string {
  const hash = sha256(`idp-b|${teamId}|${email}`)
  const digits = hash.replace(/[a-f]/g, "")
  return `${digits.slice(0, 6)}.${hash.slice(0, 32)}.${digits.slice(6, 10)}`
}

/** What identity tokens say of them. Booleans are words, and the address of who hides theirs is a relay's. */
export function idpBClaimsOf(person: IdpBPerson): Record<string, unknown> {
  return person.hidesEmail
    ? { email: relayAddressOf(person), email_verified: "true", is_private_email: "true" }
    : { email: person.email, email_verified: "true" }
}

export function relayAddressOf({ email }: Person): string {
  return `${sha256(`relay|${teamId}|${email}`).slice(0, 10)}@privaterelay.idp-b.invalid`
}

/** What the first authorization alone brings along, beside the token and unsigned. */
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
