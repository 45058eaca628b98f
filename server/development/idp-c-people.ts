// Users of the stand-in for IDP_C, and the links that it has sent them.
import { createHash, randomInt, timingSafeEqual } from "node:crypto"
import type { Clock } from "@signet/kernel/ports"

export interface ProjectPerson {
  /** A UUID, constant for an address at every start. */
  readonly id: string
  readonly email: string
  /** SHA-256; null for users without a password. A stand-in needs no slower hash, because its users have no secrets. */
  passwordHash: Uint8Array | null
  confirmedAtMs: number | null
  isAnonymous: boolean
  isBanned: boolean
  name: string | null
  /** The valid link. A newer one replaces it. */
  link: { tokenHash: string; sentAtMs: number; type: LinkType } | null
}

/** "signup" is for users who have not confirmed the address. */
export type LinkType = "signup" | "magiclink"

interface NewPerson {
  email: string
  password?: string
  isConfirmed?: boolean
  isAnonymous?: boolean
  isBanned?: boolean
  name?: string
}

export interface ProjectPeople {
  find(email: string): ProjectPerson | undefined
  findById(id: string): ProjectPerson | undefined
  /** Inserts or replaces a user. A confirmed user was confirmed a day ago. */
  put(person: NewPerson): ProjectPerson
  hasPassword(person: ProjectPerson, password: string): boolean
  setPassword(email: string, password: string): void
  /** Creates a link for the user, which invalidates the previous one. */
  issueLink(person: ProjectPerson): { tokenHash: string; type: LinkType }
  /** Undefined for a link that is unknown, used, or older than an hour. */
  findByLink(tokenHash: string): ProjectPerson | undefined
}

const linkLifeMs = 3_600_000
const day = 86_400_000

export function createProjectPeople(clock: Clock): ProjectPeople {
  const byEmail = new Map<string, ProjectPerson>()
  const hashOf = (email: string, password: string) => createHash("sha256").update(`${email}|${password}`).digest()
  const all = () => [...byEmail.values()]
  return {
    find: (email) => byEmail.get(email.toLowerCase()),
    findById: (id) => all().find((person) => person.id === id),
    put({ email: given, password, isConfirmed = false, isAnonymous = false, isBanned = false, name }) {
      const email = given.toLowerCase()
      const person: ProjectPerson = {
        id: idOf(email),
        email,
        passwordHash: password === undefined ? null : hashOf(email, password),
        confirmedAtMs: isConfirmed ? clock.nowMs() - day : null,
        isAnonymous,
        isBanned,
        name: name ?? null,
        link: null,
      }
      byEmail.set(email, person)
      return person
    },
    hasPassword({ email, passwordHash }, password) {
      return passwordHash !== null && timingSafeEqual(passwordHash, hashOf(email, password))
    },
    setPassword(email, password) {
      const person = byEmail.get(email.toLowerCase())
      if (person !== undefined) person.passwordHash = hashOf(person.email, password)
    },
    issueLink(person) {
      const code = String(randomInt(1_000_000)).padStart(6, "0")
      const tokenHash = createHash("sha224")
        .update(person.email + code)
        .digest("hex")
      const type = person.confirmedAtMs === null ? "signup" : "magiclink"
      person.link = { tokenHash, sentAtMs: clock.nowMs(), type }
      return { tokenHash, type }
    },
    findByLink(tokenHash) {
      const person = all().find(({ link }) => link?.tokenHash === tokenHash)
      const sentAtMs = person?.link?.sentAtMs ?? 0
      return clock.nowMs() < sentAtMs + linkLifeMs ? person : undefined
    },
  }
}

function idOf(email: string): string {
  const hex = createHash("sha256").update(`idp-c|${email}`).digest("hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
