// Others commit first, or the service refuses a call: a change is tried again on the new epoch, eight times, and stays
// pending; a refusal that no retry can change reaches its caller.
import { Code, ConnectError } from "@connectrpc/connect"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import type { AppendMessageRequest, AuthorizeMembershipRequest } from "@signet/proto/messaging/v1/conversation_service"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import { failureOf } from "../../clients/core/errors.ts"
import { createMessengerWith } from "../../clients/core/messaging/create-messenger.ts"
import type { MessengerEvent } from "../../clients/core/messaging/events.ts"
import type { Messenger } from "../../clients/core/messaging/messenger.ts"
import { type Engine, MlsError, uncheckedEngine } from "../../clients/core/messaging/mls.ts"
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
afterEach(() => {
  watched.before = undefined
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

test.runIf(isLong)("a change skips what another member has already done, and does the rest", async () => {
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

const refusal = (reason: string) =>
  new ConnectError("refused", Code.FailedPrecondition, undefined, [
    { desc: ErrorInfoSchema, value: { reason, domain: "signet" } },
  ])

/** Refuses the next call of a method. */
function refuseNext(refused: string, reason: string): void {
  watched.calls.length = 0
  watched.before = async ({ method }) => {
    if (method !== refused) return
    watched.before = undefined
    throw refusal(reason)
  }
}

async function group(): Promise<string> {
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  await ben.messenger.sync()
  return id
}

function failuresOf({ messenger }: Pick<OpenedMessenger, "messenger">): MessengerEvent[] {
  const failures: MessengerEvent[] = []
  messenger.subscribe((event) => event.is === "failed" && failures.push(event))
  return failures
}

const claimsOfAdds = () =>
  watched
    .inputsOf<AuthorizeMembershipRequest>("AuthorizeMembership")
    .flatMap(({ change }) => (change.case === "add" ? [change.value.claimId] : []))
const membersIn = async ({ messenger }: { messenger: Messenger }, id: string) =>
  (await messenger.conversation(id))?.memberUserIds

test.runIf(isLong)("of two changes that are requested at once, each caller gets the outcome of its own", async () => {
  const id = await group()
  const failures = failuresOf(ann)
  const [added, refused] = await Promise.allSettled([
    ann.messenger.addMembers(id, [cid.person.userId]),
    ann.messenger.addMembers(id, [`prn_${"0".repeat(26)}`]),
  ])
  expect(added.status).toBe("fulfilled")
  expect(refused.status === "rejected" && failureOf(refused.reason)?.reason).toBe("RESOURCE_UNRESOLVED")
  expect(failures).toEqual([])
  expect(await membersIn(ann, id)).toContain(cid.person.userId)
})

test("a message that the service refuses permanently is refused to its sender, and is not stored", async () => {
  const id = await group()
  const failures = failuresOf(ann)
  refuseNext("AppendMessage", "INVALID_FIELD")
  const sending = ann.messenger.send(id, utf8("refused"))
  expect(failureOf(await sending.catch((error: unknown) => error))?.reason).toBe("INVALID_FIELD")
  expect([failures, await ann.messenger.outbox(id)]).toEqual([[], []])
  await ann.messenger.send(id, utf8("after it"))
  expect(await textsIn(ann, id)).toEqual(["after it"])
})

test.runIf(isLong)("key packages that the service does not know as claimed are claimed anew", async () => {
  const id = await group()
  refuseNext("AppendMessage", "KEY_PACKAGE_NOT_CLAIMED")
  await ann.messenger.addMembers(id, [cid.person.userId])
  const claims = claimsOfAdds()
  expect([claims.length, new Set(claims).size]).toEqual([2, 2])
  expect(await membersIn(ann, id)).toContain(cid.person.userId)
})

/** Ann's device in another process, whose engine inspects key packages like this, this many times. */
async function inspecting(inspect: Engine["inspectKeyPackage"], times: number): Promise<Messenger> {
  const [options, primitives] = messengers.optionsFor(ann.person, { ...ann, transport: watched, clock })
  let left = times
  return createMessengerWith(options, {
    ...primitives,
    async openEngine(given) {
      const engine = uncheckedEngine(given)
      return {
        ...engine,
        inspectKeyPackage: (bytes) => (left-- > 0 ? inspect(bytes) : engine.inspectKeyPackage(bytes)),
      }
    },
  })
}

/** As 100 days later. */
const late: Engine["inspectKeyPackage"] = (bytes) =>
  uncheckedEngine({
    ...messengers.optionsFor(ann.person, ann)[1],
    nowSeconds: () => Math.floor(Date.now() / 1_000) + 100 * 86_400,
    deviceOf: () => "",
  }).inspectKeyPackage(bytes)

test.runIf(isLong)("claimed key packages that have expired are replaced by others, once", async () => {
  const id = await group()
  watched.calls.length = 0
  const once = await inspecting(late, 1)
  await once.addMembers(id, [cid.person.userId])
  expect(new Set(claimsOfAdds()).size).toBe(2)
  await once.removeMembers(id, [cid.person.userId])
  watched.calls.length = 0
  const always = await inspecting(late, 9)
  const refused = { reason: "ANSWER_REFUSED", cause: { reason: "MLS_BAD_KEY_PACKAGE" } }
  await expect(always.addMembers(id, [cid.person.userId])).rejects.toMatchObject(refused)
  expect(new Set(claimsOfAdds()).size).toBe(2)
  // Any other fault is the service's.
  watched.calls.length = 0
  const forged = await inspecting(() => Promise.reject(new MlsError("MLS_BAD_SIGNATURE", "forged")), 1)
  await expect(forged.addMembers(id, [cid.person.userId])).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
  expect(claimsOfAdds()).toHaveLength(1)
  for (const messenger of [once, always, forged]) await messenger.close()
})

test("a creation whose claimed key packages have expired continues", async () => {
  const once = await inspecting(late, 1)
  const { id, status } = await once.createGroupConversation([ben.person.userId])
  expect(status).toBe("active")
  expect(await membersIn({ messenger: once }, id)).toContain(ben.person.userId)
  await once.close()
})

test.runIf(isLong)(
  "an epoch that ends between an authorization and its commit costs another authorization",
  async () => {
    const id = await group()
    const tab = await messengers.open(ann.person, { store: ann.store, box: ann.box })
    watched.calls.length = 0
    const { unary } = watched
    watched.unary = async (...call) => {
      const answer = await unary(...call)
      if (call[0].name !== "AuthorizeMembership") return answer
      watched.unary = unary
      await ben.messenger.refreshKeys(id)
      // The other tab reads the new epoch, to send in it.
      await tab.messenger.send(id, utf8("from the other tab"))
      return answer
    }
    await ann.messenger.addMembers(id, [cid.person.userId])
    expect(claimsOfAdds()).toHaveLength(2)
    expect(await membersIn(ann, id)).toContain(cid.person.userId)
  },
)

test("a device whose first commit lost against another device's waits for its welcome, and asks for no rejoin", async () => {
  watched.calls.length = 0
  watched.before = async ({ method }) => {
    if (method === "AppendMessage") throw refusal("COMMIT_CONFLICT")
    if (method === "ListMessages") throw refusal("RESOURCE_UNRESOLVED")
  }
  const { status, waitsFor } = await ann.messenger.createGroupConversation([ben.person.userId])
  expect({ status, waitsFor }).toEqual({ status: "waiting", waitsFor: "welcome" })
  expect(watched.inputsOf("RequestRejoin")).toEqual([])
})

test.runIf(isLong)("a device that was removed while it left stays removed", async () => {
  const id = await group()
  const tab = await messengers.open(ann.person, { store: ann.store, box: ann.box })
  const { unary } = watched
  watched.unary = async (...call) => {
    const answer = await unary(...call)
    if (call[0].name !== "LeaveConversation") return answer
    watched.unary = unary
    await ben.messenger.sync()
    await tab.messenger.sync()
    return answer
  }
  await ann.messenger.leave(id)
  expect((await ann.messenger.conversation(id))?.status).toBe("removed")
})

test("a false NOT_MEMBER of the service ends no membership: the message waits for the next sync", async () => {
  const id = await group()
  refuseNext("AppendMessage", "NOT_MEMBER")
  await expect(ann.messenger.send(id, utf8("still a member"))).rejects.toMatchObject({ reason: "QUEUED" })
  expect(watched.inputsOf("AppendMessage")).toHaveLength(1)
  expect((await ann.messenger.conversation(id))?.status).toBe("active")
  await ann.messenger.sync()
  expect(await textsIn(ann, id)).toEqual(["still a member"])
})

test("a rejoin of an unknown conversation is refused without a call", async () => {
  watched.calls.length = 0
  await expect(ann.messenger.rejoin(`cnv_${"0".repeat(26)}`)).rejects.toMatchObject({ reason: "CONVERSATION_UNKNOWN" })
  expect(watched.calls).toEqual([])
})

test("a creation that the service refuses without a conversation is refused to its caller", async () => {
  const known = await ann.messenger.conversations()
  refuseNext("CreateConversation", "NO_KEY_PACKAGE")
  const creating = ann.messenger.createGroupConversation([ben.person.userId])
  expect(failureOf(await creating.catch((error: unknown) => error))?.reason).toBe("NO_KEY_PACKAGE")
  expect(await ann.messenger.conversations()).toHaveLength(known.length)
})

test("local state is destroyed only with the sentence that confirms it", async () => {
  const id = await group()
  for (const confirm of ["", "destroy everything", "Destroy everything on this device"]) {
    // The types allow only the sentence.
    const destroying = ann.messenger.destroyLocalState(confirm as "destroy everything on this device")
    await expect(destroying).rejects.toThrow(new TypeError("not confirmed"))
  }
  expect((await ann.messenger.send(id, utf8("still here"))).state).toBe("sent")
})
