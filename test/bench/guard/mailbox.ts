// What it costs to seal an envelope and to take one: cold, with what is remembered of certificates and contexts, and at the
// end of a chain.
import { createGuard } from "@signet/guard/guard"
import { createLocalKeySet } from "@signet/guard/key-set"
import { type ActorEnvelope, createMailbox } from "@signet/guard/mailbox"
import type { ReplayStore } from "@signet/guard/mailbox-replay"
import { nodeTokenCrypto } from "@signet/guard/node/token-crypto"
import { createActors } from "@signet/guard/testing/actors"
import { ids } from "@signet/guard/testing/issuer"
import { type TokenCrypto, webTokenCrypto } from "@signet/guard/token-crypto"
import type { Requirement } from "@signet/kernel/authz/requirement"

interface Row {
  readonly name: string
  /** Microseconds of CPU a message, all threads of the process: the median over the rounds. */
  readonly "cpu us": number
}

const requirement: Requirement = {
  is: "allOf",
  of: [
    { is: "kinds", of: ["USER"] },
    { is: "scope", scope: "notes.read" },
    { is: "tenant", from: "BODY", field: "tenant_id" },
  ],
}

/** The same messages come in every round. */
const forgetful: ReplayStore = {
  isDone: async () => false,
  claim: async () => "claimed",
  finish: async () => undefined,
  release: async () => undefined,
}

export async function mailboxRows({ rounds, calls }: { rounds: number; calls: number }): Promise<readonly Row[]> {
  const actors = createActors()
  const { access } = actors
  const web = await actors.actor({ clientId: "svc-web", mailboxes: ["svc-notes/*"] })
  const notes = await actors.actor({ clientId: "svc-notes", mailboxes: ["svc-notes/*"] })
  const contextToken = actors.contextToken(web)
  const message = new TextEncoder().encode(JSON.stringify({ tenant_id: ids.tenant, text: "x".repeat(200) }))
  const post = { mailbox: "svc-notes/inbox", scopes: ["notes.read"], message }
  const seal = () => web.sender.seal({ ...post, contextToken })
  const mailbox = (crypto: TokenCrypto, cacheSize: number) => {
    const guard = createGuard({ ...access, keySet: createLocalKeySet(access, crypto), crypto })
    const { contextKeys, access: at } = actors
    const read = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes))
    const of = { guard, requirement, mailbox: post.mailbox, issuer: at.issuer, contextKeys, clock: at.clock, read }
    return createMailbox(
      { ...of, replay: forgetful, crypto, cacheSize },
      (envelope: ActorEnvelope<unknown>) => envelope,
    )
  }
  const warm = mailbox(nodeTokenCrypto, 1_000)
  const envelopes = await Promise.all(Array.from({ length: calls }, seal))
  const forwarded = await Promise.all(
    envelopes.map(async (envelope) => {
      const { received } = await warm(envelope)
      const { received: again } = await warm(await notes.sender.forward(received, post))
      return notes.sender.forward(again, post)
    }),
  )
  const candidates: Record<string, readonly [readonly Uint8Array[], (envelope: Uint8Array) => Promise<unknown>]> = {
    "seal an envelope": [envelopes, seal],
    "mailbox, cold": [envelopes, mailbox(nodeTokenCrypto, 0)],
    "mailbox, warm": [envelopes, warm],
    "mailbox, warm, WebCrypto": [envelopes, mailbox(webTokenCrypto, 1_000)],
    "mailbox, warm, after two forwarders": [forwarded, warm],
  }
  const times = new Map(Object.keys(candidates).map((name) => [name, [] as number[]]))
  // The first round warms everything up and is not counted.
  for (let round = 0; round <= rounds; round++) {
    for (const [name, [all, take]] of Object.entries(candidates)) {
      const before = process.cpuUsage()
      for (const envelope of all) await take(envelope)
      const { user, system } = process.cpuUsage(before)
      if (round > 0) times.get(name)?.push((user + system) / calls)
    }
  }
  return [...times].map(([name, all]) => ({ name, "cpu us": all.sort((a, b) => a - b)[rounds >> 1] ?? 0 }))
}
