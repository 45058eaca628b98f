// Two actors and who posts to them: a web service asks for a digest, the notes actor sums up, the mail actor sends. Each
// mailbox verifies for itself whose authority a message carries, and the notes actor hands on less than it was given.
import type { Clock, Guard, KeySet, Requirement } from "@signet/guard"
import { type ActorEnvelope, createMailbox, type Receive } from "@signet/guard/mailbox"
import type { ReplayStore } from "@signet/guard/mailbox-replay"
import type { Sender } from "@signet/guard/mailbox-sender"

const readsNotes: Requirement = {
  is: "allOf",
  of: [
    { is: "scope", scope: "notes.read" },
    { is: "tenant", from: "BODY", field: "tenant_id" },
  ],
}
const sendsMail: Requirement = { is: "scope", scope: "mail.send" }

interface Digest {
  readonly tenant_id: string
  readonly most: number
}

export interface World {
  readonly issuer: string
  /** The keys at `/.well-known/context-keys.json`. */
  readonly contextKeys: KeySet
  readonly clock: Clock
  readonly replay: ReplayStore
  /** Of svc-notes and svc-mail: one audience, one guard. */
  readonly guards: { readonly notes: Guard; readonly mail: Guard }
  /** Seals in the name of svc-notes. */
  readonly notes: Sender
  /** Carries envelopes to a mailbox: a queue. */
  readonly deliver: (mailbox: string, posted: Uint8Array) => Promise<void>
  readonly findNotes: (tenantId: string) => Promise<readonly string[]>
  readonly send: (principalId: string, text: string) => Promise<void>
}

const json = (message: Uint8Array) => JSON.parse(new TextDecoder().decode(message))
const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))

export function createActors(world: World): ReadonlyMap<string, Receive<void>> {
  const { guards, notes, deliver, findNotes, send } = world

  async function digest({ message, received }: ActorEnvelope<Digest>): Promise<void> {
    const found = await findNotes(message.tenant_id)
    const mailbox = "svc-mail/out"
    // What is left of the authority is what mailing needs.
    const post = { mailbox, scopes: ["mail.send"], message: bytes({ text: found.slice(0, message.most).join("\n") }) }
    await deliver(mailbox, await notes.forward(received, post))
  }

  async function mail({ auth, message }: ActorEnvelope<{ readonly text: string }>): Promise<void> {
    if (auth !== undefined) await send(auth.principal.id, message.text)
  }

  return new Map([
    ["svc-notes/digest", createMailbox({ ...at("svc-notes/digest", guards.notes), requirement: readsNotes }, digest)],
    ["svc-mail/out", createMailbox({ ...at("svc-mail/out", guards.mail), requirement: sendsMail }, mail)],
  ])

  function at(mailbox: string, guard: Guard) {
    return { ...world, mailbox, guard, read: json }
  }
}
