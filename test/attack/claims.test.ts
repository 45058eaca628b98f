// Claims of key packages and uses of welcomes by devices that may not, and races for the last package and for one
// welcome.
import { ConnectError } from "@connectrpc/connect"
import { idOf, newId, parseId } from "@signet/kernel/ids"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { NoKeyPackageSchema } from "@signet/proto/messaging/v1/conflict"
import { sql } from "kysely"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { protocols, refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { newClaimId } from "../support/messaging/committing.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { hexOf, randomBytes } from "../support/messaging/device-parts.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { openPlace } from "../support/places.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let ada: TestDevice
let bob: TestDevice
const [overConnect] = Object.values(protocols)
const connect = () => overConnect?.(server.url) ?? expect.fail()

async function registered(subject: string): Promise<TestDevice> {
  const device = await newDevice(connect(), await server.person(subject))
  await device.register()
  return device
}

beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  ada = await registered("ada")
  bob = await registered("bob")
})
afterAll(() => server?.close())

/** Returns the reason of the refusal. */
async function why(call: Promise<unknown>): Promise<string | undefined> {
  const error = await call.then(
    () => expect.fail("the call was not refused"),
    (thrown) => ConnectError.from(thrown),
  )
  return error.findDetails(ErrorInfoSchema)[0]?.reason
}

describe("a claim", () => {
  let conversationId: string
  beforeAll(async () => {
    await ada.upload(4)
    await bob.upload(12)
    await bob.upload(1, { isLastResort: true })
    conversationId = (await ada.createGroup([bob.userId])).id
  })
  const claim = (change: object = {}, by = ada) =>
    by.calls.keyPackages.claimKeyPackages({
      claimId: newClaimId(),
      conversationId,
      userIds: [bob.userId],
      ...change,
    })
  const refsOf = (answer: Awaited<ReturnType<typeof claim>>) =>
    answer.claim?.keyPackages.map(({ keyPackageRef }) => hexOf(keyPackageRef))

  test("repeated under its id returns the same packages in any order, and is refused with other targets", async () => {
    const claimId = newClaimId()
    const eve = await registered("claimed eve")
    await eve.upload(2)
    const both = [bob.userId, eve.userId]
    const claimedInAudit = () =>
      server.store.db.selectFrom("audit_event").select("id").where("kind", "=", "key_package.claimed").execute()
    const before = await claimedInAudit()
    const first = await claim({ claimId, userIds: both })
    const again = await claim({ claimId, userIds: both.toReversed() })
    expect((await claimedInAudit()).length).toBe(before.length + 1)
    expect(refsOf(again)).toEqual(refsOf(first))
    expect(again.claim?.ticket).toEqual(first.claim?.ticket)
    expect(await why(claim({ claimId }))).toBe("IDEMPOTENCY_MISMATCH")
    expect(await why(claim({ claimId, deviceIds: [bob.id] }))).toBe("IDEMPOTENCY_MISMATCH")
    // A claim id belongs to its device: the same id of another member gets other packages.
    const others = await claim({ claimId, userIds: [eve.userId] }, bob)
    expect(others.claim?.ticket).not.toEqual(first.claim?.ticket)
    expect(refsOf(first)).not.toContain(refsOf(others)?.[0] ?? expect.fail())
  })

  test("gets the same refusal for a conversation without the caller and for one that does not exist", async () => {
    const stranger = await registered("stranger")
    const missing = newId("cnv", Date.now(), randomBytes(10))
    expect(await refusal(claim({}, stranger))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    expect(await refusal(claim({ conversationId: missing }, stranger))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
  })

  test("gets the same refusal for users and devices in other tenants and for missing ones", async () => {
    const tenantId = newId("ten", Date.now(), randomBytes(10))
    await openPlace(server.deps.store, { appId: server.app.id, tenantId, contextId: null })
    const elsewhere = await newDevice(connect(), await server.person("elsewhere", { tenantId }))
    await elsewhere.register()
    const [user, device] = [idOf("prn", randomBytes(16)), idOf("dev", randomBytes(16))]
    for (const change of [{ userIds: [user] }, { userIds: [], deviceIds: [device] }, { deviceIds: [elsewhere.id] }]) {
      expect(await refusal(claim(change))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    }
    // A caller outside the tenant sees none of its conversations, and the other way round.
    expect(await refusal(claim({}, elsewhere))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    expect(await refusal(elsewhere.calls.devices.listDevices({ userId: ada.userId }))).toBe(
      "PermissionDenied RESOURCE_UNRESOLVED",
    )
  })

  test("names the devices that have no key package", async () => {
    const empty = await registered("empty")
    const error = await claim({ userIds: [empty.userId] }).catch((thrown) => ConnectError.from(thrown))
    if (!(error instanceof ConnectError)) return expect.fail()
    expect(error.findDetails(NoKeyPackageSchema)[0]?.deviceIds).toEqual([empty.id])
  })

  test("gives each package once: of fifty concurrent claims for ten packages, ten get one and forty get the last resort", async () => {
    const rich = await registered("rich")
    await rich.upload(10)
    await rich.upload(1, { isLastResort: true })
    const answers = await Promise.all(Array.from({ length: 50 }, () => claim({ userIds: [rich.userId] })))
    const packages = answers.flatMap((answer) => answer.claim?.keyPackages ?? [])
    expect(packages).toHaveLength(50)
    const once = packages.filter(({ isLastResort }) => !isLastResort).map(({ keyPackageRef }) => hexOf(keyPackageRef))
    expect(once).toHaveLength(10)
    expect(new Set(once).size).toBe(10)
    expect((await rich.calls.keyPackages.getInventory({})).inventory).toMatchObject({
      available: 0,
      hasLastResort: true,
      isLow: true,
    })
  })

  test("gets no key package whose credential expires within a day, though the package lives longer", async () => {
    const brief = await registered("brief")
    const expiresAt = (hours: number) =>
      sql`update messaging_device set expires_at = ${new Date(Date.now() + hours * 3_600_000)} where id = ${brief.id}`
    await expiresAt(23).execute(server.store.db)
    await brief.upload(1)
    await brief.upload(1, { isLastResort: true })
    expect(await why(claim({ userIds: [brief.userId] }))).toBe("NO_KEY_PACKAGE")
    await expiresAt(25).execute(server.store.db)
    await brief.upload(1)
    expect((await claim({ userIds: [brief.userId] })).claim?.keyPackages).toHaveLength(1)
  })

  test("gets no key package of a revoked device", async () => {
    const session = await server.person("revoked rosa")
    const gone = await newDevice(connect(), session)
    await gone.register()
    await gone.upload(3)
    await gone.calls.devices.revokeDevice({ deviceId: gone.id })
    expect(await why(claim({ userIds: [session.userId] }))).toBe("NO_KEY_PACKAGE")
    expect(await why(claim({ userIds: [], deviceIds: [gone.id] }))).toBe("NO_KEY_PACKAGE")
  })
})

describe("a welcome", () => {
  test.runIf(isLong)("can be read only by its device, and consumed once with one idempotency key", async () => {
    const [ann, ben] = [await registered("ann"), await registered("ben")]
    await ben.upload(2)
    const { id } = await ann.createGroup([ben.userId])
    const { welcomes } = await ben.calls.welcomes.listWelcomes({})
    expect(welcomes.map(({ conversationId }) => conversationId)).toEqual([id])
    expect((await ben.calls.welcomes.listWelcomes({})).welcomes).toHaveLength(1)
    expect((await ann.calls.welcomes.listWelcomes({})).welcomes).toEqual([])
    const welcomeId = welcomes[0]?.id ?? expect.fail()
    const key = randomBytes(16)
    const consume = (by: TestDevice, idempotencyKey: Uint8Array, wel = welcomeId) =>
      by.calls.welcomes.consumeWelcome({ welcomeId: wel, idempotencyKey })
    expect(await refusal(consume(ann, key))).toBe("NotFound NOT_FOUND")
    const missing = newId("wel", Date.now(), randomBytes(10))
    expect(await refusal(consume(ann, key, missing))).toBe("NotFound NOT_FOUND")
    const keys = Array.from({ length: 4 }, () => randomBytes(16))
    const done = await Promise.allSettled(keys.map((each) => consume(ben, each)))
    const winner = done.findIndex(({ status }) => status === "fulfilled")
    expect(done.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
    const again = await consume(ben, keys[winner] ?? expect.fail())
    expect(again.welcome?.welcome).toHaveLength(0)
    expect(await refusal(consume(ben, key))).toBe("AlreadyExists WELCOME_ALREADY_CONSUMED")
    expect((await ben.calls.welcomes.listWelcomes({})).welcomes).toEqual([])
  })

  test("is void once its device is revoked, and members get a directive to remove the device", async () => {
    const [cat, dan] = [await registered("cat"), await registered("dan")]
    await dan.upload(2)
    const room = await cat.createGroup([dan.userId])
    const other = await newDevice(connect(), await dan.session.again())
    await other.register()
    await other.calls.devices.revokeDevice({ deviceId: dan.id })
    const { directives } = await cat.calls.conversations.listDirectives({ conversationId: room.id })
    expect(directives).toMatchObject([{ deviceId: dan.id, userId: dan.userId }])
    const deviceId = parseId("dev", dan.id) ?? expect.fail()
    const page = { size: 10, maxBytes: 1_000_000, after: null }
    expect(await server.store.messaging.welcomes.listPending(deviceId, Date.now(), page)).toEqual([])
    expect(await server.store.messaging.devices.dueEffects(10)).toEqual([])
    await cat.carryOut(room, directives[0]?.id ?? expect.fail())
    expect(
      (await cat.calls.conversations.getConversation({ conversationId: room.id })).conversation?.members,
    ).toHaveLength(1)
  })
})
