// A user of the stand-in providers: any claimed identity.
import { createHash } from "node:crypto"

export interface Person {
  email: string
  name: string
}

/** Parses a user from the fields of a form or of JSON: Ada by default; undefined if invalid. */
export function parsePerson(fields: Record<string, unknown>): Person | undefined {
  const { email = "ada@example.com", name = "", ...unknown } = fields
  if (typeof email !== "string" || typeof name !== "string" || Object.keys(unknown).length > 0) return undefined
  if (!/^[^@\s]{1,64}@[^@\s]{1,255}$/.test(email) || name.length > 200) return undefined
  return { email: email.toLowerCase(), name: name || email }
}

/** Constant for a user at every start. Not the email, because accounts are found by subject. */
export function subjectOf({ email }: Person): string {
  return createHash("sha256").update(`idp-a|${email}`).digest("hex").slice(0, 24)
}

export function claimsOf({ email, name }: Person) {
  return { email, email_verified: true, name }
}
