// Others always commit first: a change is tried again on the new epoch, eight times, and stays pending.
import type { AppendMessageRequest, AuthorizeMembershipRequest } from "@signet/proto/messaging/v1/conversation_service"
import { afterAll, beforeAll, expect, test } from "vitest"
import type { Messenger } from "../../clients/core/messaging/messenger.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { effort, isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger, systemClock } from "../support/messaging/messengers.ts"
import { type WatchedTransport, watchedTransport } from "../support/messaging/watched-transport.ts"
import { storyStore } from "../support/postgres.ts"

let server: Deployment
let messengers: Messengers
let watched: WatchedTransport
let ann: OpenedMessenger
let ben: OpenedMessenger
let cid: OpenedMessenger
/** The durations of Ann's waits, in milliseconds. */
let waits: number[] = []
const clock = {
  ...systemClock,
  after(ms: number, run: () => void) {
    waits.push(ms)
    return systemClock.after(0, run)
  },
}
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server)
  watched = watchedTransport(messengers.transport)
  ann = await messengers.newcomer("ann", { transport: watched, clock })
  ben = await messengers.newcomer("ben")
  cid = await messengers.newcomer("cid")
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const isShort = effort(true, false, false)
const utf8 = (text: string) => new TextEncoder().encode(text)
const textsIn = async ({ messenger }: { messenger: Messenger }, id: string) =>
  (await messenger.timeline(id)).flatMap((entry) =>
    entry.is === "message" ? [new TextDecoder().decode(entry.plaintext)] : [],
  )

/** A group of Ann and Ben, in which Ben ends the epoch before each commit or message of Ann arrives. */
async function overtaken(): Promise<string> {
  watched.before = undefined
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  await ben.messenger.sync()
  watched.calls.length = 0
  waits = []
  watched.before = async ({ method }) => {
    if (method === "AppendMessage") await ben.messenger.refreshKeys(id)
  }
  return id
}

test.runIf(isLong)("a change that is always overtaken is created anew eight times, and stays pending", async () => {
  const id = await overtaken()
  const adding = ann.messenger.addMembers(id, [cid.person.userId])
  await expect(adding).rejects.toMatchObject({ reason: "CONFLICT_EXHAUSTED" })
  const appended = watched.inputsOf<AppendMessageRequest>("AppendMessage")
  expect(appended).toHaveLength(8)
  // Each try is another commit with its own key and proof, and the same key packages.
  for (const bytesOf of [
    (one: AppendMessageRequest) => one.idempotencyKey,
    (one: AppendMessageRequest) => (one.payload.case === "commit" ? one.payload.value.commit : undefined),
  ]) {
    expect(new Set(appended.map((one) => Buffer.from(bytesOf(one) ?? []).toString("hex"))).size).toBe(8)
  }
  const asked = watched.inputsOf<AuthorizeMembershipRequest>("AuthorizeMembership")
  const claims = asked.map(({ change }) => (change.case === "add" ? change.value.claimId : ""))
  expect([claims.length, new Set(claims).size]).toEqual([8, 1])
  expect(claims[0]).toMatch(/^clm_/)
  // It waits between two tries: 50 to 100 ms at first, then as long as the service says.
  expect(waits).toHaveLength(7)
  expect(waits[0]).toBeGreaterThan(50)
  expect(waits[0]).toBeLessThanOrEqual(100)
  for (const wait of waits) expect(wait).toBeGreaterThan(0)
  expect(new Set(waits).size).toBeGreaterThan(1)

  watched.before = undefined
  await ann.messenger.sync()
  await ben.messenger.sync()
  await cid.messenger.sync()
  for (const { messenger } of [ann, ben, cid]) {
    expect((await messenger.conversation(id))?.memberUserIds).toContain(cid.person.userId)
  }
})

test.skipIf(isShort)("a message that is always overtaken is encrypted anew eight times, and is sent once", async () => {
  const id = await overtaken()
  await expect(ann.messenger.send(id, utf8("at last"))).rejects.toMatchObject({ reason: "CONFLICT_EXHAUSTED" })
  const appended = watched.inputsOf<AppendMessageRequest>("AppendMessage")
  expect(appended).toHaveLength(8)
  // Nobody could decrypt a ciphertext of an old epoch in a new one.
  expect(new Set(appended.map(({ expectedEpoch }) => expectedEpoch)).size).toBe(8)
  watched.before = undefined
  await ann.messenger.send(id, utf8("and on"))
  await ben.messenger.sync()
  for (const one of [ann, ben]) expect(await textsIn(one, id)).toEqual(["at last", "and on"])
})

test("a change skips what another member has already done, and does the rest", async () => {
  watched.before = undefined
  const dot = await messengers.newcomer("dot")
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  await ben.messenger.sync()
  let isFirst = true
  watched.before = async ({ method }) => {
    if (method !== "AppendMessage" || !isFirst) return
    isFirst = false
    await ben.messenger.addMembers(id, [cid.person.userId])
  }
  await ann.messenger.addMembers(id, [cid.person.userId, dot.person.userId])
  watched.before = undefined
  const added = (await ann.messenger.timeline(id)).flatMap((entry) =>
    entry.is === "membership" ? entry.added.map(({ userId }) => userId) : [],
  )
  expect(added.slice(1)).toEqual([cid.person.userId, dot.person.userId])
})
