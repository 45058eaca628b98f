// A process ends, or an answer is lost, between any two steps of a change: a repeated request is equal byte for byte,
// and a refused change is created anew.
import type { AppendMessageRequest, AuthorizeMembershipRequest } from "@signet/proto/messaging/v1/conversation_service"
import type { ConsumeWelcomeRequest, ListWelcomesResponse } from "@signet/proto/messaging/v1/welcome_service"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { openContext } from "../../clients/core/messaging/open.ts"
import { faultyStore } from "../../clients/core/messaging/testing/faulty-store.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger, systemClock } from "../support/messaging/messengers.ts"
import { type WatchedTransport, watchedTransport } from "../support/messaging/watched-transport.ts"
import { storyStore } from "../support/postgres.ts"

let server: Deployment
let messengers: Messengers
let watched: WatchedTransport
let ann: OpenedMessenger
let ben: OpenedMessenger
let cid: OpenedMessenger
const clock = { ...systemClock, after: (_: number, run: () => void) => systemClock.after(0, run) }
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server)
  ann = await messengers.newcomer("ann")
  ben = await messengers.newcomer("ben")
  cid = await messengers.newcomer("cid")
})
beforeEach(() => {
  watched = watchedTransport(messengers.transport)
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const utf8 = (text: string) => new TextEncoder().encode(text)
/** The same device in a new process, over the watched network. */
const inNewProcess = ({ person, store, box }: OpenedMessenger) =>
  messengers.open(person, { store, box, transport: watched, clock })
async function group(): Promise<string> {
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  await ben.messenger.sync()
  return id
}
const appended = () => watched.inputsOf<AppendMessageRequest>("AppendMessage")
const usersIn = async ({ messenger }: Pick<OpenedMessenger, "messenger">, id: string) =>
  (await messenger.conversation(id))?.memberUserIds

test("a message whose answer was lost is sent again with the same ciphertext and key, by any process", async () => {
  const id = await group()
  watched.losing = "AppendMessage"
  const first = await inNewProcess(ann)
  await expect(first.messenger.send(id, utf8("once"))).rejects.toMatchObject({ reason: "QUEUED" })
  await (await inNewProcess(ann)).messenger.sync()
  watched.losing = undefined
  const last = await inNewProcess(ann)
  await last.messenger.sync()
  const [one, ...others] = appended()
  // Sometimes the log delivers it before it is sent again.
  for (const other of others) {
    expect([other.idempotencyKey, other.payload]).toEqual([one?.idempotencyKey, one?.payload])
  }
  await ben.messenger.sync()
  expect((await ben.messenger.timeline(id)).map(({ is }) => is)).toEqual(["message"])
})

test.runIf(isLong)("a message whose request was lost is sent again with the same ciphertext and key", async () => {
  const id = await group()
  const { idempotencyKey, message } = await ann.messenger.encryptMessage(id, utf8("kept"))
  await (await inNewProcess(ann)).messenger.sync()
  expect(appended()).toMatchObject([{ idempotencyKey, payload: { case: "application", value: message } }])
})

test.each([
  ["never reached the service is sent unchanged", "before"],
  ["was accepted, but whose answer was lost, is applied from the log", "after"],
])("a commit that %s", async (_, lost) => {
  const id = await group()
  if (lost === "after") watched.losing = "AppendMessage"
  else
    watched.before = async ({ method }) => method === "AppendMessage" && Promise.reject(new TypeError("fetch failed"))
  const first = await inNewProcess(ann)
  await expect(first.messenger.addMembers(id, [cid.person.userId])).rejects.toMatchObject({ reason: "QUEUED" })
  expect(await ann.store.list(id, "staged")).toHaveLength(1)
  watched.losing = watched.before = undefined
  const again = await inNewProcess(ann)
  await again.messenger.sync()
  const [one, ...others] = appended()
  expect(others).toHaveLength(lost === "after" ? 0 : 1)
  for (const other of others) {
    expect([other.idempotencyKey, other.payload]).toEqual([one?.idempotencyKey, one?.payload])
  }
  expect(await usersIn(again, id)).toContain(cid.person.userId)
  expect(await ann.store.list(id, "staged")).toEqual([])
})

test.runIf(isLong)("a refused commit whose refusal was lost is discarded and created anew", async () => {
  const id = await group()
  watched.losing = "AppendMessage"
  watched.before = async ({ method }) => {
    if (method !== "AppendMessage") return
    watched.before = undefined
    await ben.messenger.refreshKeys(id)
  }
  const first = await inNewProcess(ann)
  await expect(first.messenger.addMembers(id, [cid.person.userId])).rejects.toMatchObject({ reason: "QUEUED" })
  const [refused] = appended()
  expect(await ann.store.list(id, "staged")).toHaveLength(1)
  watched.losing = undefined
  const again = await inNewProcess(ann)
  await again.messenger.sync()
  const taken = appended().at(-1)
  expect(taken?.expectedEpoch).toBe((refused?.expectedEpoch ?? 0n) + 1n)
  expect(taken?.idempotencyKey).not.toEqual(refused?.idempotencyKey)
  expect(await usersIn(again, id)).toContain(cid.person.userId)
  expect(await ann.store.list(id, "staged")).toEqual([])
})

test.runIf(isLong)(
  "a process that ends between a claim and its commit claims the same key packages again",
  async () => {
    const id = await group()
    const counting = faultyStore(ann.store)
    watched.before = async ({ method }) => {
      if (method === "AuthorizeMembership") throw new Error("counted")
    }
    const open = (store: typeof ann.store) =>
      messengers.open(ann.person, { store, box: ann.box, transport: watched, clock })
    await (await open(counting)).messenger.addMembers(id, [cid.person.userId]).catch(() => undefined)
    watched.before = undefined
    watched.calls.length = 0
    // The process ends with the first operation after the answer, so that nothing of the claim is stored.
    let isClaimed = false
    const ending: typeof ann.store = {
      ...ann.store,
      async transact(...given) {
        if (isClaimed) throw new Error("the process has ended")
        return ann.store.transact(...given)
      },
    }
    const { unary } = watched
    watched.unary = async (...call) => {
      const answer = await unary(...call)
      if (call[0].name === "AuthorizeMembership") isClaimed = true
      return answer
    }
    const first = await open(ending)
    await first.messenger.sync()
    expect(isClaimed).toBe(true)
    watched.unary = unary
    await (await inNewProcess(ann)).messenger.sync()
    const claims = watched
      .inputsOf<AuthorizeMembershipRequest>("AuthorizeMembership")
      .flatMap(({ change }) => (change.case === "add" ? [change.value.claimId] : []))
    expect([claims.length, new Set(claims).size]).toEqual([2, 1])
    expect(await usersIn(ann, id)).toContain(cid.person.userId)
  },
)

test.runIf(isLong)("a welcome that was applied but not consumed is consumed with the same key", async () => {
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  watched.losing = "ConsumeWelcome"
  await (await inNewProcess(ben)).messenger.sync()
  expect((await ben.messenger.conversation(id))?.status).toBe("active")
  watched.losing = undefined
  const again = await inNewProcess(ben)
  await again.messenger.sync()
  const [one, ...others] = watched.inputsOf<ConsumeWelcomeRequest>("ConsumeWelcome")
  expect(others.length).toBeGreaterThan(0)
  for (const other of others) {
    expect([other.welcomeId, other.idempotencyKey]).toEqual([one?.welcomeId, one?.idempotencyKey])
  }
  const { context } = await openContext(...messengers.optionsFor(ben.person, ben))
  const left: Pick<ListWelcomesResponse, "welcomes"> = await context.calls.welcomes.listWelcomes({})
  expect(left.welcomes.filter(({ conversationId }) => conversationId === id)).toEqual([])
  await again.messenger.sync()
  expect(watched.inputsOf("ConsumeWelcome")).toHaveLength(others.length + 1)
})
