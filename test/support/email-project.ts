// The common test interface of the stand-in for IDP_C and of the real service.
import type { IncomingHttpHeaders } from "node:http"

export interface Mail {
  to: string
  tokenHash: string
  /** "magiclink" for users that the project has confirmed, "signup" for others. */
  type: string
  /** The link of the mail. */
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
  /** The gateway's key for the header apikey. */
  readonly secretKey: string
  /** The project's signing secret; null if it publishes keys. */
  readonly tokenSecret: string | null
  /** Every request that reached the gateway. */
  readonly requests: RecordedRequest[]
  /** Every sent mail, oldest first. */
  mails(): readonly Mail[]
  /** Creates a user as the project's administrator would. A confirmed one was confirmed a day ago. */
  addPerson(person: { email: string; password: string; isConfirmed: boolean }): Promise<{ id: string }>
  /** Calls a path below /auth/v1 with the secret key. */
  ask(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>
  /** Number of sessions in the project. */
  countSessions(): Promise<number>
  stop(): Promise<void>
}
