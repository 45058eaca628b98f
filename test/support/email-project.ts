// What the stand-in for IDP_C and the real thing have in common, as tests see them.
import type { IncomingHttpHeaders } from "node:http"

export interface Mail {
  to: string
  tokenHash: string
  /** "magiclink" for people whom the project knows as confirmed, "signup" for others. */
  type: string
  /** Where the mail leads, as far as the page is concerned. */
  link: string
}

export interface RecordedRequest {
  method: string
  url: string
  headers: IncomingHttpHeaders
  body: string
}

export interface EmailProject {
  readonly projectUrl: string
  /** What the gateway asks for in the header apikey. */
  readonly secretKey: string
  /** What the project signs with; null where it publishes its keys. */
  readonly tokenSecret: string | null
  /** Every request that reached the gateway. */
  readonly requests: RecordedRequest[]
  /** Every mail that was sent, oldest first. */
  mails(): readonly Mail[]
  /** Makes a person, as an administrator of the project does; one who is confirmed has been so for a day. */
  addPerson(person: { email: string; password: string; isConfirmed: boolean }): Promise<{ id: string }>
  /** Asks below /auth/v1 with the secret key. */
  ask(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>
  /** How many sessions the project holds. */
  countSessions(): Promise<number>
  stop(): Promise<void>
}
