// Three services that send messages to each other, with mailboxes that record handled messages: for attack tests.
import { createGuard, type GuardOptions } from "@signet/guard/guard"
import { createLocalKeySet } from "@signet/guard/key-set"
import { type ActorEnvelope, createMailbox, type MailboxOptions } from "@signet/guard/mailbox"
import { createMemoryReplay } from "@signet/guard/mailbox-replay"
import { nodeTokenCrypto } from "@signet/guard/node/token-crypto"
import { type Actor, createActors, type Forged } from "@signet/guard/testing/actors"
import type { Requirement } from "@signet/kernel/authz/requirement"

export const actors = createActors()
const { access } = actors
export const web = await actors.actor({ clientId: "svc-web", mailboxes: ["svc-notes/inbox", "svc-notes/other"] })
export const notes = await actors.actor({ clientId: "svc-notes", mailboxes: ["svc-mail/*"] })
export const mail = await actors.actor({ clientId: "svc-mail" })

type Received = ActorEnvelope<Uint8Array>
export interface MailboxWorld extends Partial<MailboxOptions<Uint8Array>> {
  readonly requirement?: Requirement
  readonly guarded?: Partial<GuardOptions>
}

/** A mailbox that records handled messages. */
export function mailboxOf({ guarded, mailbox = "svc-notes/inbox", ...world }: MailboxWorld = {}) {
  const handled: Received[] = []
  const keySet = createLocalKeySet(access, nodeTokenCrypto)
  const [audience = ""] = mailbox.split("/")
  const receive = createMailbox<Uint8Array, void>(
    {
      guard: createGuard({ ...access, audience, keySet, crypto: nodeTokenCrypto, ...guarded }),
      requirement: { is: "scope", scope: "notes.read" },
      mailbox,
      issuer: access.issuer,
      contextKeys: actors.contextKeys,
      clock: access.clock,
      replay: createMemoryReplay(access),
      read: (message) => message,
      crypto: nodeTokenCrypto,
      ...world,
    },
    (envelope) => void handled.push(envelope),
  )
  return { receive, handled }
}

/** "taken", or the reason of the refusal. */
export const reasonOf = async (call: Promise<unknown>): Promise<string> => {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (thrown === undefined) return "taken"
  return thrown instanceof Error && "reason" in thrown ? String(thrown.reason) : String(thrown)
}

/** A mailbox's result for a forged envelope. */
export const said = async (by: Actor, of: Forged = {}, world: MailboxWorld = {}) =>
  reasonOf(mailboxOf(world).receive(await actors.forge(by, of)))

export const nowSeconds = () => Math.floor(access.clock.nowMs() / 1_000)
export const post = (mailbox = "svc-notes/inbox", scopes = ["notes.read"]) => ({
  mailbox,
  scopes,
  message: new Uint8Array([1, 2, 3]),
})
/** A valid envelope. */
export const sealed = () => web.sender.seal({ ...post(), contextToken: actors.contextToken(web) })
