// A messenger at its limits: with a wrong clock, a message that is too large, and keys that are a week old.
import { create } from "@bufbuild/protobuf"
import type { Transport } from "@connectrpc/connect"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger, systemClock } from "../support/messaging/messengers.ts"
import { watchedTransport } from "../support/messaging/watched-transport.ts"
import { storyStore } from "../support/postgres.ts"

let server: Deployment
let messengers: Messengers
let ann: OpenedMessenger
let ben: OpenedMessenger
let id: string
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server)
  ann = await messengers.newcomer("ann")
  ben = await messengers.newcomer("ben")
  id = (await ann.messenger.createGroupConversation([ben.person.userId])).id
  await ben.messenger.sync()
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

/** The same device with a clock that is ahead. */
const at = ({ person, store, box }: OpenedMessenger, aheadMs: number, transport = messengers.transport) =>
  messengers.open(person, { store, box, transport, clock: { ...systemClock, nowMs: () => Date.now() + aheadMs } })
const minute = 60_000
const day = 24 * 60 * minute

test("a device whose clock is behind reports its clock as the cause, and continues when it is right", async () => {
  await ann.messenger.refreshKeys(id)
  await ann.messenger.send(id, new Uint8Array(3))
  const late = await at(ben, -10 * minute)
  const failures: unknown[] = []
  late.messenger.subscribe((event) => event.is === "failed" && failures.push(event.error))
  await late.messenger.sync()
  expect(failures).toContainEqual(expect.objectContaining({ name: "MessagingError", reason: "CLOCK_WRONG" }))
  expect(await late.messenger.conversation(id)).toMatchObject({ status: "active", quarantine: undefined })
  expect(await late.messenger.timeline(id)).toEqual([])
  await ben.messenger.sync()
  expect((await ben.messenger.timeline(id)).map(({ is }) => is)).toEqual(["message"])
})

test("a message of 220 KiB is sent, and a larger one is refused without blocking others", async () => {
  const most = 220 * 1_024
  const before = await ann.messenger.timeline(id)
  const tooLarge = ann.messenger.send(id, new Uint8Array(most + 1))
  await expect(tooLarge).rejects.toMatchObject({ name: "MessagingError", reason: "MESSAGE_TOO_LARGE" })
  expect(await ann.store.list(id, "outbox")).toEqual([])
  await ann.messenger.send(id, new Uint8Array(most).fill(7))
  await ben.messenger.sync()
  expect((await ben.messenger.timeline(id)).at(-1)).toMatchObject({ is: "message" })
  expect(await ann.messenger.timeline(id)).toHaveLength(before.length + 1)
})

test("keys that are a week old are replaced by the next sync, and not before", async () => {
  const watched = watchedTransport(messengers.transport)
  const commits = () => watched.inputsOf<{ payload: { case: string } }>("AppendMessage")
  await (await at(ann, 6 * day, watched)).messenger.sync()
  expect(commits()).toEqual([])
  const later = await at(ann, 8 * day, watched)
  await later.messenger.sync()
  await expect.poll(() => commits().map(({ payload }) => payload.case)).toEqual(["commit"])
  await later.messenger.close()
})

/** A service whose time is the caller's: it accepts credentials created then. */
const aged: Transport = {
  stream: (...call) => messengers.transport.stream(...call),
  async unary(method, ...rest) {
    if (method.name !== "UploadKeyPackages") return messengers.transport.unary(method, ...rest)
    const of = { stream: false, service: method.parent, method, header: new Headers(), trailer: new Headers() } as const
    return { ...of, message: create(method.output) }
  },
}

test.runIf(isLong)(
  "private keys of key packages are stored as long as a welcome may arrive, and no longer",
  async () => {
    const cid = await messengers.newcomer("cid")
    const kept = async () => new Set((await cid.store.list("device", "keyPackage")).map(({ key }) => key))
    const made = await kept()
    expect(made.size).toBe(13)
    // A key package is valid for 30 days, and a welcome for another 7; the last resort is valid for 90.
    const stillThere = async (days: number, transport: Transport) => {
      await (await at(cid, days * day, transport)).messenger.sync().catch(() => undefined)
      return [...(await kept())].filter((key) => made.has(key)).length
    }
    expect(await stillThere(37, messengers.transport)).toBe(13)
    // A clock that the service does not confirm deletes nothing.
    expect(await stillThere(39, messengers.transport)).toBe(13)
    expect(await stillThere(39, aged)).toBe(1)
  },
)
