// Delivery by a mailbox. test/attack/mailbox.test.ts has what it refuses, and vectors/ has its decisions.
import { type Reason, Refused } from "@signet/kernel/errors"
import { beforeAll, describe, expect, test } from "vitest"
import { createGuard } from "../guard.ts"
import { createLocalKeySet } from "../key-set.ts"
import { nodeTokenCrypto } from "../node/token-crypto.ts"
import { type Actor, createActors } from "../testing/actors.ts"
import { ids } from "../testing/issuer.ts"
import { type ActorEnvelope, createMailbox, type MailboxOptions } from "./mailbox.ts"
import { type Claim, createMemoryReplay, type ReplayStore } from "./replay.ts"

const actors = createActors()
const { access } = actors
const guard = createGuard({ ...access, keySet: createLocalKeySet(access, nodeTokenCrypto), crypto: nodeTokenCrypto })
let web: Actor
beforeAll(async () => {
  web = await actors.actor({ clientId: "svc-web", mailboxes: ["svc-notes/*"] })
})

const mailbox = "svc-notes/inbox"
const mailboxOf = <Output>(
  handle: (envelope: ActorEnvelope<string>) => Output | Promise<Output>,
  change: Partial<MailboxOptions<string>> = {},
) =>
  createMailbox<string, Output>(
    {
      guard,
      requirement: { is: "scope", scope: "notes.read" },
      mailbox,
      issuer: access.issuer,
      contextKeys: actors.contextKeys,
      clock: access.clock,
      replay: createMemoryReplay(access),
      read: (message) => new TextDecoder().decode(message),
      ...change,
    },
    handle,
  )
const seal = (change: object = {}) =>
  web.sender.seal({
    mailbox,
    contextToken: actors.contextToken(web),
    scopes: ["notes.read"],
    message: new TextEncoder().encode("hello"),
    ...change,
  })
const reasonOf = (call: Promise<unknown>): Promise<Reason | undefined> =>
  call.then(
    () => undefined,
    (error: unknown) => (error instanceof Refused ? error.reason : Promise.reject(error)),
  )

test("a handler receives the message, its caller, its sender and its correlation", async () => {
  const receive = mailboxOf((envelope) => envelope)
  const envelope = await receive(
    await seal({ messageType: "greeting", causationId: "click-1", correlationId: "visit-1" }),
  )
  expect(envelope).toMatchObject({
    message: "hello",
    messageType: "greeting",
    causationId: "click-1",
    correlationId: "visit-1",
    sender: { principalId: web.principalId, clientId: "svc-web" },
    auth: {
      principal: { id: ids.principal, kind: "USER" },
      sessionId: ids.session,
      tenantId: ids.tenant,
      audience: "svc-notes",
      method: "ACTOR_ENVELOPE",
      actor: null,
    },
  })
})

test("a message carries the scopes that its sender selects from the context token", async () => {
  const receive = mailboxOf(({ auth }) => [...(auth?.scopes ?? [])])
  const contextToken = actors.contextToken(web, { scp: ["notes.read", "notes.write"] })
  expect(await receive(await seal({ scopes: ["notes.read"], contextToken }))).toEqual(["notes.read"])
})

test("a first envelope has no causation id, and its id becomes the correlation id", async () => {
  const receive = mailboxOf(({ id, causationId, correlationId }) => ({ id, causationId, correlationId }))
  const { id, ...rest } = await receive(await seal())
  expect(rest).toEqual({ causationId: null, correlationId: id })
})

test("an invalid mailbox or too long a lifetime cannot be sealed", async () => {
  await expect(seal({ mailbox: "svc-notes" })).rejects.toThrow(RangeError)
  await expect(seal({ lifeSeconds: 7 * 86_400 + 1 })).rejects.toThrow(RangeError)
  await expect(seal({ lifeSeconds: 0 })).rejects.toThrow(RangeError)
})

test("an expired certificate causes at most one request in a minute", async () => {
  const late = await actors.actor({ clientId: "svc-late", mailboxes: ["svc-notes/*"] })
  const expired = () => late.certificate({ iat: 1, nbf: 1, exp: 2 })
  let asked = 0
  let newer: string | undefined
  const receive = mailboxOf(() => "taken", {
    findCertificate: async () => {
      asked++
      return newer
    },
  })
  const next = async () => {
    const payload = { envelopeId: `envelope-${"0".repeat(10)}${asked}-${Math.random()}`.replace(".", "") }
    return receive(await actors.forge(late, { payload, envelope: { certificate: expired() } }))
  }
  for (let i = 0; i < 5; i++) expect(await reasonOf(next())).toBe("ENVELOPE_KEY_REVOKED")
  expect(asked).toBe(1)
  access.pass(60_000)
  newer = late.certificate()
  for (let i = 0; i < 5; i++) expect(await reasonOf(next())).toBeUndefined()
  expect(asked).toBe(2)
})

test("an expired certificate causes no request about other keys", async () => {
  const late = await actors.actor({ clientId: "svc-late", mailboxes: ["svc-notes/*"] })
  const asked: string[] = []
  const receive = mailboxOf(() => "taken", { findCertificate: async (kid) => void asked.push(kid) })
  const certificate = late.certificate({ iat: 1, nbf: 1, exp: 2 })
  for (const kid of [web.key.kid, "0".repeat(43), ".."]) {
    const posted = receive(await actors.forge(late, { envelope: { kid, certificate } }))
    expect(await reasonOf(posted)).toBe("ENVELOPE_CERTIFICATE_INVALID")
  }
  expect(asked).toEqual([])
})

test("a mailbox has an audience and a name", () => {
  expect(() => mailboxOf(() => 1, { mailbox: "svc-notes" })).toThrow("is not a mailbox")
})

test("a mailbox with another audience than the guard's accepts nothing", async () => {
  const all = await actors.actor({ clientId: "svc-all", mailboxes: ["svc-other/*"] })
  const receive = mailboxOf(() => 1, { mailbox: "svc-other/inbox" })
  const contextToken = actors.contextToken(all)
  const post = { mailbox: "svc-other/inbox", contextToken, scopes: ["notes.read"], message: new Uint8Array() }
  expect(await reasonOf(receive(await all.sender.seal(post)))).toBe("AUDIENCE_MISMATCH")
})

test("an unreadable message is refused and may be retried", async () => {
  let isReadable = false
  const read = (bytes: Uint8Array): string => {
    if (!isReadable) throw new Error("not yet")
    return new TextDecoder().decode(bytes)
  }
  const receive = mailboxOf(({ message }) => message, { read })
  const envelope = await seal()
  expect(await reasonOf(receive(envelope))).toBe("MALFORMED_REQUEST")
  isReadable = true
  expect(await receive(envelope)).toBe("hello")
})

test("onDeny receives the reason of a refused envelope", async () => {
  const heard: unknown[] = []
  const receive = mailboxOf(() => 1, { onDeny: ({ reason, statusCode }) => heard.push([reason, statusCode]) })
  await reasonOf(receive(new Uint8Array([1])))
  await reasonOf(receive(await seal({ scopes: [] })))
  expect(heard).toEqual([
    ["ENVELOPE_MALFORMED", 401],
    ["MISSING_SCOPE", 403],
  ])
})

describe("an envelope is handled at least once", () => {
  test("again at once after its handler failed", async () => {
    let calls = 0
    const receive = mailboxOf(() => {
      if (++calls === 1) throw new Error("a fault")
      return "done"
    })
    const envelope = await seal()
    await expect(receive(envelope)).rejects.toThrow("a fault")
    expect(await receive(envelope)).toBe("done")
    expect(await reasonOf(receive(envelope))).toBe("ENVELOPE_REPLAYED")
    expect(calls).toBe(2)
  })

  test("again after the lease, if its handler never returned", async () => {
    let calls = 0
    const replay = createMemoryReplay(access)
    // A process that stops while handling.
    const gone = mailboxOf(() => new Promise(() => calls++), { replay })
    const next = mailboxOf(() => ++calls, { replay })
    const envelope = await seal()
    gone(envelope).catch(() => undefined)
    await expect.poll(() => calls).toBe(1)
    expect(await reasonOf(next(envelope))).toBe("UNAVAILABLE")
    access.pass(60_000)
    expect(await next(envelope)).toBe(2)
  })

  test("again, if its completion could not be stored", async () => {
    const memory = createMemoryReplay(access)
    let isUp = false
    const replay: ReplayStore = {
      ...memory,
      finish: (key) => (isUp ? memory.finish(key) : Promise.reject(new Error("down"))),
    }
    let calls = 0
    const receive = mailboxOf(() => ++calls, { replay })
    const envelope = await seal()
    await expect(receive(envelope)).rejects.toThrow("down")
    isUp = true
    expect(await reasonOf(receive(envelope))).toBe("UNAVAILABLE")
    access.pass(60_000)
    expect(await receive(envelope)).toBe(2)
  })

  test("and remembered until even a slow clock refuses it as expired", async () => {
    const memory = createMemoryReplay(access)
    const claims: Claim[] = []
    const replay: ReplayStore = {
      ...memory,
      claim: (key, claim) => {
        claims.push(claim)
        return memory.claim(key, claim)
      },
    }
    const { received } = await mailboxOf((envelope) => envelope, { replay })(await seal())
    expect(claims.map(({ forgetAtMs }) => forgetAtMs)).toEqual([(received.last.exp + 60) * 1_000])
  })

  test("and not while the store is unavailable", async () => {
    const down = () => Promise.reject(new Error("down"))
    const replay = createMemoryReplay(access)
    let calls = 0
    const blind = mailboxOf(() => ++calls, { replay: { ...replay, isDone: down } })
    const full = mailboxOf(() => ++calls, { replay: { ...replay, claim: down } })
    const envelope = await seal()
    expect(await reasonOf(blind(envelope))).toBe("UNAVAILABLE")
    expect(await reasonOf(full(envelope))).toBe("UNAVAILABLE")
    expect(calls).toBe(0)
  })
})
