// Whoever somebody says that they are.
import { createHash } from "node:crypto"

export interface Person {
  email: string
  name: string
}

/** The person that fields of a form or of JSON name: Ada when they name nobody; undefined when they make no sense. */
export function parsePerson(fields: Record<string, unknown>): Person | undefined {
  const { email = "ada@example.com", name = "", ...unknown } = fields
  if (typeof email !== "string" || typeof name !== "string" || Object.keys(unknown).length > 0) return undefined
  if (!/^[^@\s]{1,64}@[^@\s]{1,255}$/.test(email) || name.length > 200) return undefined
  return { email: email.toLowerCase(), name: name || email }
}

/** The same for the same person at every start, and no email: accounts are found by it. */
export function subjectOf({ email }: Person): string {
  return createHash("sha256").update(`idp-a|${email}`).digest("hex").slice(0, 24)
}

export function claimsOf({ email, name }: Person) {
  return { email, email_verified: true, name }
}
