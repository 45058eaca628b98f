// The messenger in React Native: JavaScript on one side of a bridge, and on the other a stand-in for native code with
// the real messenger.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createMessengerWith } from "../../clients/core/messaging/create-messenger.ts"
import { openMemoryStore } from "../../clients/core/messaging/store/memory.ts"
import { testBox } from "../../clients/core/messaging/testing/test-box.ts"
import {
  createMessenger,
  type NativeEvent,
  type NativeMessenger,
  type ReactNativeMessenger,
} from "../../clients/react-native/index.ts"
import { nativeDouble } from "../../clients/react-native/testing/native-double.ts"
import { createTaint, type Taint, taintedSuite } from "../../clients/react-native/testing/taint.ts"
import { type Messengers, messengersOn } from "../support/messaging/messengers.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let messengers: Messengers
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  messengers = messengersOn(server)
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const utf8 = (text: string) => new TextEncoder().encode(text)
const safetyNumber = "012345678901234567890123456789012345678901234567890123456789"

interface Phone {
  readonly userId: string
  readonly native: NativeMessenger
  readonly messenger: ReactNativeMessenger
  readonly taint: Taint
  readonly crossed: readonly string[]
}

/** @param isLeaky True if the native side returns a key by mistake. */
async function phone(name: string, isLeaky = false): Promise<Phone> {
  const person = await server.person(name)
  const taint = createTaint()
  let identityKey = new Uint8Array()
  const { native, crossed } = nativeDouble({
    async open({ session, whenKeysChange }) {
      expect(whenKeysChange).toBe("refuse")
      if (session !== `session of ${name}`) throw new Error("no such sign-in")
      taint.add("an access token", person.accessToken)
      const [options, primitives] = messengers.optionsFor(person, { store: openMemoryStore(), box: testBox() })
      const suite = taintedSuite(primitives.suite, taint)
      const signatureKeyPair = async () => {
        const pair = await suite.signatureKeyPair()
        identityKey = pair.seed.slice()
        return pair
      }
      return createMessengerWith(options, { ...primitives, suite: { ...suite, signatureKeyPair } })
    },
    safetyNumber: async () => (isLeaky ? Buffer.from(identityKey).toString("base64") : safetyNumber),
  })
  const messaging = { baseUrl: server.url, issuerRootKeys: [server.issuerRootKey] }
  const asked = { messaging, session: `session of ${name}`, whenKeysChange: "refuse" } as const
  const messenger = await createMessenger(native, asked)
  await messenger.sync()
  return { userId: person.userId, native, messenger, taint, crossed }
}

test("two phones write to each other, and no secret crosses into JavaScript", async () => {
  const [ann, ben] = [await phone("ann with a phone"), await phone("ben with a phone")]
  const heard: string[] = []
  ben.messenger.subscribe((event) => heard.push(event.is))
  const { id, status } = await ann.messenger.createGroupConversation([ben.userId])
  expect(status).toBe("active")
  const { seq = 0n } = await ann.messenger.send(id, utf8("hello"))
  await ben.messenger.sync()
  await ben.messenger.send(id, utf8("hello back"))
  const waiting = await ann.messenger.encryptMessage(id, utf8("later"))
  expect(waiting).toMatchObject({ conversationId: id, epoch: 1n })
  await ann.messenger.sync()
  await ann.messenger.refreshKeys(id)
  const texts = (await ann.messenger.timeline(id, { afterSeq: seq - 1n })).flatMap((entry) =>
    entry.is === "message" ? [new TextDecoder().decode(entry.plaintext)] : [],
  )
  expect(texts).toEqual(["hello", "hello back", "later"])
  expect(heard).toContain("entry")
  expect(await ann.messenger.safetyNumber(ben.userId)).toMatch(/^\d{60}$/)
  // A device that has not ended is not replaced.
  await ann.messenger.startAnew()
  expect(await ann.messenger.devices()).toMatchObject([{ id: ann.messenger.deviceId, isThisOne: true }])
  expect((await ben.messenger.conversations())[0]?.memberUserIds).toContain(ann.userId)

  for (const { crossed, taint } of [ann, ben]) {
    const transcript = crossed.join("\n")
    expect(transcript).toContain(Buffer.from("hello").toString("base64"))
    expect(taint.count).toBeGreaterThan(400)
    expect(taint.in(transcript)).toEqual([])
  }
})

test("two messengers of one native side hear only their own events", async () => {
  const people = [await messengers.newcomer("fay with two sign-ins"), await messengers.newcomer("gus of the same app")]
  const { native } = nativeDouble({
    open: async ({ session }) => people[Number(session)]?.messenger ?? expect.fail("no such sign-in"),
    safetyNumber: async () => safetyNumber,
  })
  const bridge = new Set<(event: NativeEvent) => void>()
  const both: NativeMessenger = {
    ...native,
    onEvent(listener) {
      bridge.add(listener)
      return native.onEvent(listener)
    },
  }
  const messaging = { baseUrl: server.url, issuerRootKeys: [server.issuerRootKey] }
  const opened = [0, 1].map((session) => createMessenger(both, { messaging, session: String(session) }))
  const [fay = expect.fail(), gus = expect.fail()] = await Promise.all(opened)
  const heard: Record<"fay" | "gus", string[]> = { fay: [], gus: [] }
  fay.subscribe((event) => heard.fay.push(event.is))
  gus.subscribe((event) => heard.gus.push(event.is))

  const { id } = await gus.createGroupConversation([people[0]?.person.userId ?? ""])
  await gus.send(id, utf8("not yet for fay"))
  expect(heard.gus).toContain("entry")
  expect(heard.fay).toEqual([])
  const before = [...heard.gus]
  await fay.sync()
  expect(heard.fay).toContain("entry")
  expect(heard.gus).toEqual(before)

  const [ofFay, ofGus] = [heard.fay.length, heard.gus.length]
  const { handle } = await native.open({
    baseUrl: server.url,
    issuerRootKeys: [],
    session: "0",
    whenKeysChange: "warn",
  })
  for (const listener of bridge) for (const to of [handle, "unknown", ""]) listener({ handle: to, is: "lagged" })
  expect([heard.fay.length, heard.gus.length]).toEqual([ofFay, ofGus])
  for (const listener of bridge) listener({ handle: "m1", is: "lagged" })
  expect([heard.fay.slice(ofFay), heard.gus.slice(ofGus)]).toEqual([["lagged"], []])
})

test("a native side that leaks a key is detected", async () => {
  const { messenger, taint, crossed } = await phone("eve with a phone", true)
  expect(taint.in(crossed.join("\n"))).toEqual([])
  await messenger.safetyNumber("prn_01kdvdna00edmtevk5ehj6axhg")
  expect(taint.in(crossed.join("\n"))).toEqual(["the identity key"])
})

describe("the taint", () => {
  const secret = Uint8Array.from({ length: 32 }, (_, i) => (i * 37 + 11) % 256)
  const inside = Buffer.concat([utf8("before"), secret, utf8("after")])
  test.each<[string, string]>([
    ["in base64", Buffer.from(secret).toString("base64")],
    ["within other bytes, in base64", inside.toString("base64")],
    ["within other bytes, in base64url", inside.toString("base64url")],
    ["in hexadecimal", inside.toString("hex")],
    ["as an array of numbers", JSON.stringify([...inside])],
  ])("is seen %s", (_, text) => {
    const taint = createTaint()
    taint.add("a secret", secret)
    expect(taint.in(JSON.stringify({ is: "entry", text }))).toEqual(["a secret"])
    expect(taint.in(JSON.stringify({ is: "entry", text: "another" }))).toEqual([])
  })
})

test("a refusal of the native side has the same class and reason as elsewhere", async () => {
  const { messenger, native } = await phone("cid with a phone")
  const unknown = "cnv_01kdvdna00edmtevk5ehj6axhg"
  await expect(messenger.send(unknown, utf8("x"))).rejects.toMatchObject({
    name: "MessagingError",
    reason: "CONVERSATION_UNKNOWN",
  })
  const locked: NativeMessenger = {
    ...native,
    open: async () => Promise.reject({ code: "LOCKED", message: "unlock the phone first" }),
  }
  const options = { messaging: { baseUrl: server.url, issuerRootKeys: [] }, session: "s" }
  await expect(createMessenger(locked, options)).rejects.toMatchObject({ name: "SecretBoxError", reason: "LOCKED" })
  await messenger.close()
  await expect(messenger.sync()).rejects.toMatchObject({ reason: "CLOSED" })
})

test("an answer that is not in the contract is refused", async () => {
  const { messenger, native } = await phone("dot with a phone")
  const strange: NativeMessenger = {
    ...native,
    open: async () => ({ handle: "m1", deviceId: messenger.deviceId }),
    timeline: async () => [{ seq: "1", atMs: 0, is: "message" }],
    conversations: async () => [
      {
        ...{ id: "c", status: "unheard of", isDirect: false, memberUserIds: [], blockedUserIds: [] },
        ...{ processedSeq: "0", asksConfirmation: false },
      },
    ],
  }
  const messaging = { baseUrl: server.url, issuerRootKeys: [] }
  const opened = await createMessenger(strange, { messaging, session: "s" })
  await expect(opened.timeline("c")).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
  await expect(opened.conversations()).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
})
