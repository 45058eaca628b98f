// Readers that stay open across a failure, through the public clients: a service that follows revocations with the
// guard, and a messenger that follows its hints. The drill only writes: nothing reopens a reader but the reader itself.
import { generateKeyPairSync } from "node:crypto"
import { createClient, type Interceptor, type Transport } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-node"
import { developmentAppId } from "@signet/development/app-id"
import { createGuard, createKeySet, createRevocationFeed, createServiceToken } from "@signet/guard"
import { nodeTokenCrypto } from "@signet/guard/node"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { sql } from "kysely"
import type { Database } from "../../server/store/postgres/sql.ts"
import { type OpenedMessenger, systemClock, textsIn } from "../support/messaging/messengers.ts"
import { claimsOf } from "../support/people.ts"
import type { RunningProgram } from "../support/program.ts"
import { messengersOf } from "./program-clients.ts"
import { retried, signInAtStandIn } from "./writers.ts"

export interface StreamFigures {
  /** Sign-outs with an answer. */
  readonly revoked: number
  /** Messages that a messenger accepted; it queues those that it cannot send. */
  readonly sent: number
  /** Revocations that the guard does not enforce or was not sent, and messages that the other messenger lacks. */
  readonly missing: number
  /** Revocations that the guard was sent twice, and messages that arrived twice or out of order. */
  readonly repeated: number
  /** Streams that the receiving messenger opened: one if the server held the first, more if it ended it. */
  readonly subscriptions: number
  /** Failures that the guard reported, before it read on. */
  readonly feedProblems: number
  /** From the question to the moment when both readers have everything. */
  readonly caughtUpMs: number
}

export interface OpenStreams {
  /** Stops writing, and waits until both readers have everything, at most a minute. */
  finish(db: Database): Promise<StreamFigures>
  close(): Promise<void>
}

export async function openStreams(program: RunningProgram): Promise<OpenStreams> {
  const revocations = await followRevocations(program.url)
  const messages = await converse(program)
  return {
    async finish(db) {
      const startedAt = performance.now()
      await Promise.all([revocations.stopWriting(), messages.stopWriting()])
      const [ofFeed, ofMessages] = await Promise.all([revocations.compare(db), messages.compare()])
      return {
        ...{ revoked: revocations.revoked.length, sent: messages.sent.length },
        ...{ missing: ofFeed.missing + ofMessages.missing, repeated: ofFeed.repeated + ofMessages.repeated },
        ...{ subscriptions: messages.subscriptions(), feedProblems: revocations.problems() },
        caughtUpMs: Math.round(performance.now() - startedAt),
      }
    },
    async close() {
      await revocations.close()
      await messages.close()
    },
  }
}

/** Runs the work without pause until it is stopped. */
function repeat(work: (round: number) => Promise<void>, pauseMs: number): () => Promise<void> {
  let isStopping = false
  const running = (async () => {
    for (let round = 1; !isStopping; round++) {
      await work(round)
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  })()
  return () => {
    isStopping = true
    return running
  }
}

/** Resolves after a minute, too. */
async function until(isReached: () => boolean | Promise<boolean>): Promise<void> {
  for (const endsAt = performance.now() + 60_000; !(await isReached()) && performance.now() < endsAt; ) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function followRevocations(url: string) {
  const { feed, guard, sentSeqs, problems } = await openFeed(url)
  feed.start()
  const auth = createClient(AuthService, createConnectTransport({ baseUrl: url, httpVersion: "1.1" }))
  const revoked: string[] = []
  const bystander = await signInAtStandIn(url, 100)
  const stopWriting = repeat(async (round) => {
    const { refreshToken, accessToken } = await retried(() => signInAtStandIn(url, 100 + round))
    await retried(() => auth.logout({ refreshToken }))
    revoked.push(accessToken)
  }, 20)
  const isRefused = async (token: string) => {
    const context = await guard.authenticate(`Bearer ${token}`)
    const decision = await guard.authorize(context, { is: "kinds", of: ["USER"] }, {})
    return !decision.allow && decision.reason === "SESSION_REVOKED"
  }
  return {
    revoked,
    stopWriting,
    problems: () => problems.length,
    async compare(db: Database) {
      const unsent = async () => {
        const { rows } = await sql<{ seq: string | null }>`select seq from revocation`.execute(db)
        // A revocation without a sequence number waits for the server to assign it.
        return rows.filter(({ seq }) => seq === null || !sentSeqs.includes(Number(seq))).length
      }
      await until(async () => (await unsent()) === 0)
      const refused = await Promise.all(revoked.map(isRefused))
      const isWrong = await isRefused(bystander.accessToken)
      return {
        missing: refused.filter((one) => !one).length + (await unsent()),
        repeated: sentSeqs.length - new Set(sentSeqs).size + Number(isWrong),
      }
    },
    close: () => feed.stop(),
  }
}

/** A service's feed, with the sequence numbers of the revocations that the server has sent. */
async function openFeed(url: string) {
  // The development profile has no other command that creates a service with the scope of the feed.
  const { x: receiptKey = "" } = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" })
  const added = await fetch(`${url}/dev/messaging-backend`, {
    ...{ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ receiptKey }) },
  })
  const credentials = (await added.json()) as { clientId: string; clientSecret: string }
  const sentSeqs: number[] = []
  const problems: string[] = []
  const recording: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    const text = await response.clone().text()
    if (response.ok && text.includes('"statement"')) {
      const { entries } = claimsOf(JSON.parse(text).statement) as { entries: readonly { seq: number }[] }
      sentSeqs.push(...entries.map(({ seq }) => seq))
    }
    return response
  }
  const clock = systemClock
  const keysAt = (name: string) =>
    createKeySet({ url: `${url}/.well-known/${name}.json`, crypto: nodeTokenCrypto, clock, fetch })
  const token = createServiceToken({
    ...{ url: `${url}/auth/token`, ...credentials, audience: "auth", scope: "auth.revocations.read", fetch, clock },
  })
  const onProblem = (problem: string) => problems.push(problem)
  const keys = { issuer: url, baseUrl: url, statementKeys: keysAt("statement-keys"), crypto: nodeTokenCrypto }
  // A short wait, so that the feed asks while the database is away.
  const feed = createRevocationFeed({ ...keys, token, clock, fetch: recording, onProblem, waitSeconds: 1 })
  const guard = createGuard({
    ...{ issuer: url, audience: "auth", appId: developmentAppId, keySet: keysAt("jwks"), crypto: nodeTokenCrypto },
    ...{ clock, revocations: feed },
  })
  return { feed, guard, sentSeqs, problems }
}

async function converse(program: RunningProgram) {
  const messengers = messengersOf(program)
  let subscriptions = 0
  const counting: Interceptor = (next) => (request) => {
    if (request.stream) subscriptions++
    return next(request)
  }
  const transport: Transport = createConnectTransport({
    ...{ baseUrl: program.url, httpVersion: "1.1", useBinaryFormat: true, interceptors: [counting] },
  })
  const [ada, bob] = [await messengers.newcomer("ada"), await messengers.newcomer("bob", { transport })]
  const { id } = await ada.messenger.createDirectConversation(bob.person.userId)
  await bob.messenger.sync()
  const sent: string[] = []
  const arrived: string[] = []
  const stopped = new AbortController()
  bob.messenger.subscribe((event) => {
    if (event.is === "entry" && event.entry.is === "message") {
      arrived.push(new TextDecoder().decode(event.entry.plaintext))
    }
  })
  const running = [ada, bob].map(({ messenger }) => messenger.run(stopped.signal))
  await until(() => subscriptions > 0)
  const stopWriting = repeat(async (round) => {
    const text = `message ${round}`
    await sendOrQueue(ada, id, text)
    sent.push(text)
  }, 50)
  return {
    sent,
    stopWriting,
    subscriptions: () => subscriptions,
    async compare() {
      await until(() => arrived.length >= sent.length)
      const timeline = await textsIn(bob, id)
      const lacks = (texts: readonly string[]) => sent.filter((text) => !texts.includes(text)).length
      // Each place that has another text than the sender's: a message that came twice moves the ones after it.
      const differs = (texts: readonly string[]) => texts.filter((text, place) => text !== sent[place]).length
      return {
        missing: Math.max(lacks(arrived), lacks(timeline)),
        repeated: Math.max(differs(arrived), differs(timeline)),
      }
    },
    async close() {
      stopped.abort()
      await Promise.allSettled(running)
      await messengers.close()
    },
  }
}

/** A messenger that cannot send stores the message, and sends it later. */
async function sendOrQueue({ messenger }: OpenedMessenger, id: string, text: string): Promise<void> {
  try {
    await messenger.send(id, new TextEncoder().encode(text))
  } catch (error) {
    if (!(error instanceof Error && "reason" in error && error.reason === "QUEUED")) throw error
  }
}
