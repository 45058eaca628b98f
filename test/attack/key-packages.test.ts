// Key packages and requests for credentials from whoever may not, or not like this; and races for the last package.
import { ConnectError } from "@connectrpc/connect"
import { issueDeviceRequest } from "@signet/canonical/device-request"
import type { SyncSigner } from "@signet/canonical/ed25519"
import { issuerIdOf } from "@signet/canonical/hash"
import { idOf, newId, parseId } from "@signet/kernel/ids"
import type { CredentialAuthority } from "@signet/kernel/messaging/authority"
import { StorageClass } from "@signet/proto/credential/v1/device_request"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { NoKeyPackageSchema } from "@signet/proto/messaging/v1/conflict"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createAuthority } from "../../server/keys/authority.ts"
import { nodeSigner } from "../../server/keys/ed25519.ts"
import { protocols, refusal } from "../support/clients.ts"
import { newClaimId } from "../support/messaging/committing.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { forgedKeyPackage } from "../support/messaging/forged.ts"
import { bytesOf, engine, hexOf, newLeafKey, nowSeconds, randomBytes } from "../support/messaging/papers.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { openPlace } from "../support/places.ts"

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
  server = await startMessagingServer({ store: "pglite" })
  ada = await registered("ada")
  bob = await registered("bob")
})
afterAll(() => server?.close())

/** "REASON code" of what a call is refused for. */
async function why(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => expect.fail("the call was not refused"),
    (thrown) => ConnectError.from(thrown),
  )
  const info = error.findDetails(ErrorInfoSchema)[0]
  return `${info?.reason} ${info?.metadata.code ?? ""}`.trim()
}

type Issue = (
  change: Partial<Parameters<CredentialAuthority["issueCredential"]>[0]>,
  authority?: CredentialAuthority,
) => ReturnType<CredentialAuthority["issueCredential"]>
const [aTenant, anApp] = [idOf("ten", randomBytes(16)), idOf("app", randomBytes(16))]
const app = () => ({ appId: server.app.id, tenantId: null })

const upload = (keyPackage: Uint8Array, { by = ada, isLastResort = false } = {}) =>
  by.calls.keyPackages.uploadKeyPackages({ packages: [{ keyPackage, isLastResort }] })
const one = async (device = ada, options: { isLastResort?: boolean; days?: number } = {}) =>
  (await device.newKeyPackages(1, options))[0]?.keyPackage ?? expect.fail()

describe("a request for a credential", () => {
  const asked = (change: object) =>
    issueDeviceRequest(
      {
        issuerId: issuerIdOf(server.deps.issuer),
        appId: ada.place.appId,
        userId: bytesOf("prn", ada.userId),
        nonce: randomBytes(16),
        platform: "web",
        storageClass: StorageClass.BROWSER,
        issuedAt: BigInt(nowSeconds()),
        ...change,
      },
      newLeafKey().signer,
    )

  test.each<[string, string, () => Promise<Uint8Array>]>([
    ["of another user", "REQUEST_WRONG_USER", () => asked({ userId: bytesOf("prn", bob.userId) })],
    ["of another app", "REQUEST_WRONG_APP", () => asked({ appId: randomBytes(16) })],
    ["of a tenant that the token is not in", "REQUEST_WRONG_TENANT", () => asked({ tenantId: randomBytes(16) })],
    ["to another issuer", "REQUEST_WRONG_ISSUER", () => asked({ issuerId: randomBytes(16) })],
    ["of six minutes ago", "REQUEST_EXPIRED", () => asked({ issuedAt: BigInt(nowSeconds() - 360) })],
    ["of six minutes ahead", "REQUEST_NOT_YET_VALID", () => asked({ issuedAt: BigInt(nowSeconds() + 360) })],
    ["that is none", "REQUEST_MALFORMED", async () => new Uint8Array([1, 2, 3])],
    ["with a byte after its end", "REQUEST_MALFORMED", async () => new Uint8Array([...(await asked({})), 0])],
    [
      "with a flipped bit",
      "REQUEST_BAD_SIGNATURE",
      async () => {
        const bytes = await asked({})
        return bytes.with(bytes.length - 1, (bytes.at(-1) ?? 0) ^ 1)
      },
    ],
  ])("%s is refused", async (_, code, deviceRequest) => {
    const request = { deviceRequest: await deviceRequest() }
    expect(await why(ada.calls.devices.registerDevice(request))).toBe(`CREDENTIAL_INVALID ${code}`)
    expect(await why(ada.calls.devices.renewCredential({ deviceId: ada.id, ...request }))).toBe(
      `CREDENTIAL_INVALID ${code}`,
    )
  })

  test("for a key that is another user's is refused", async () => {
    const device = await newDevice(connect(), await server.person("mallory"))
    expect(await refusal(device.register(bob.key))).toBe("AlreadyExists DEVICE_KEY_TAKEN")
  })

  test("for a key that the device gave up is refused", async () => {
    const device = await registered("nina")
    const former = device.key
    await device.renew(newLeafKey())
    expect(await refusal(device.renew(former))).toBe("AlreadyExists DEVICE_KEY_TAKEN")
    expect(await refusal(device.renew(bob.key))).toBe("AlreadyExists DEVICE_KEY_TAKEN")
  })
})

describe("an upload", () => {
  test("of another device's package is refused", async () => {
    expect(await why(upload(await one(bob)))).toBe("CREDENTIAL_INVALID CRED_WRONG_DEVICE")
  })

  test("of a package with a former credential is refused", async () => {
    const device = await registered("olga")
    const before = await one(device)
    await device.renew(newLeafKey())
    expect(await why(upload(before, { by: device }))).toBe("CREDENTIAL_INVALID CRED_NOT_NEWEST")
  })

  const other = nodeSigner(new Uint8Array(32).fill(77))
  const signedBy = (signer: SyncSigner) =>
    createAuthority({ signer: () => signer, keySet: () => undefined }, server.deps.issuer)
  test.each<[string, string, (issue: Issue) => ReturnType<Issue>]>([
    ["of another tenant", "CRED_WRONG_TENANT", (issue) => issue({ place: { ...app(), tenantId: aTenant } })],
    ["of another app", "CRED_WRONG_APP", (issue) => issue({ place: { tenantId: null, appId: anApp } })],
    [
      "that has ended",
      "CRED_EXPIRED",
      (issue) => issue({ notBeforeMs: Date.now() - 9e8, notAfterMs: Date.now() - 9e7 }),
    ],
    ["that has not begun", "CRED_NOT_YET_VALID", (issue) => issue({ notBeforeMs: Date.now() + 9e7 })],
    ["by a key that is nobody's", "CRED_UNKNOWN_ISSUER_KEY", (issue) => issue({}, signedBy(other))],
    [
      "by a key for proofs",
      "CRED_ISSUER_KEY_PURPOSE",
      (issue) => issue({}, signedBy(server.messaging.issuerKeys.signer("PROOF"))),
    ],
    [
      "of another issuer",
      "CRED_WRONG_ISSUER",
      (issue) => issue({}, createAuthority(server.messaging.issuerKeys, "https://other.example")),
    ],
  ])("of a package with a credential %s is refused", async (_, code, credentialOf) => {
    const { bytes } = await credentialOf((change, authority = server.messaging.deps.authority) =>
      authority.issueCredential({
        place: app(),
        userId: parseId("prn", ada.userId) ?? expect.fail(),
        deviceId: parseId("dev", ada.id) ?? expect.fail(),
        leafKey: ada.key.publicKey,
        serial: 1n,
        notBeforeMs: Date.now() - 60_000,
        notAfterMs: Date.now() + 40 * 86_400_000,
        flags: 0,
        ...change,
      }),
    )
    const notBefore = nowSeconds() - 60
    const life = { notBefore, notAfter: notBefore + 30 * 86_400 }
    const { keyPackage } = await engine.newKeyPackage({ ...ada.identity, credential: bytes }, life)
    expect(await why(upload(keyPackage))).toBe(`CREDENTIAL_INVALID ${code}`)
  })

  test("of a package with a leaf key that its credential does not name is refused", async () => {
    const stolen = { ...ada, identity: { ...ada.identity, ...keysOf(newLeafKey()) } }
    const forged = await forgedKeyPackage(await one(), stolen.identity, ({ leafNode }) => ({
      leafNode: { ...leafNode, signaturePublicKey: stolen.identity.signatureKey },
    }))
    expect(await why(upload(forged))).toBe("CREDENTIAL_INVALID CRED_LEAF_KEY_MISMATCH")
  })

  test("of a package whose signature is not good is refused", async () => {
    const bytes = await one()
    expect(await why(upload(bytes.with(bytes.length - 1, (bytes.at(-1) ?? 0) ^ 1)))).toBe(
      "KEY_PACKAGE_INVALID KEY_PACKAGE_SIGNATURE",
    )
  })

  test.each<[string, { days: number; isLastResort?: boolean }]>([
    ["that lives longer than 35 days", { days: 36 }],
    ["that ends today", { days: 1 }],
    ["of last resort that lives longer than 100 days", { days: 101, isLastResort: true }],
  ])("of a package %s is refused", async (_, options) => {
    expect(await why(upload(await one(ada, options), { isLastResort: options.isLastResort ?? false }))).toBe(
      "KEY_PACKAGE_INVALID KEY_PACKAGE_LIFETIME",
    )
  })

  test("of a package that is not of the use that is said is refused", async () => {
    const [once, last] = [await one(), await one(ada, { isLastResort: true })]
    expect(await why(upload(once, { isLastResort: true }))).toBe("KEY_PACKAGE_INVALID KEY_PACKAGE_LAST_RESORT")
    expect(await why(upload(last))).toBe("KEY_PACKAGE_INVALID KEY_PACKAGE_LAST_RESORT")
  })

  test("of bytes that are no package, or not in its one encoding, is refused", async () => {
    const bytes = await one()
    expect(await why(upload(new Uint8Array(64)))).toContain("MLS_")
    expect(await why(upload(new Uint8Array([...bytes, 0])))).toContain("MLS_NON_CANONICAL")
    expect(await why(upload(bytes.subarray(0, -1)))).toContain("MLS_MALFORMED")
  })

  test("of an init key that was seen before is refused, by the same device and by another", async () => {
    const device = await registered("pia")
    const bytes = await one(device)
    await upload(bytes, { by: device })
    // The same bytes again are the same upload.
    await upload(bytes, { by: device })
    const again = await forgedKeyPackage(bytes, device.identity, ({ leafNode }) => ({
      leafNode: { ...leafNode, hpkePublicKey: randomBytes(32) },
    }))
    expect(await why(upload(again, { by: device }))).toBe("KEY_PACKAGE_DUPLICATE")
    await device.calls.keyPackages.retireKeyPackages({})
    expect(await why(upload(again, { by: device }))).toBe("KEY_PACKAGE_DUPLICATE")
    const twice = [await one(device)].flatMap((keyPackage) => [{ keyPackage }, { keyPackage }])
    expect(await why(device.calls.keyPackages.uploadKeyPackages({ packages: twice }))).toBe("KEY_PACKAGE_DUPLICATE")
  })

  test("that has one package at fault adds none", async () => {
    const device = await registered("quin")
    const packages = [await one(device), await one(bob)].map((keyPackage) => ({ keyPackage }))
    expect(await why(device.calls.keyPackages.uploadKeyPackages({ packages }))).toContain("CREDENTIAL_INVALID")
    expect((await device.calls.keyPackages.getInventory({})).inventory?.available).toBe(0)
  })
})

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

  test("again under its id gives the same, whatever the order, and with other targets nothing", async () => {
    const claimId = newClaimId()
    const eve = await registered("claimed eve")
    await eve.upload(2)
    const both = [bob.userId, eve.userId]
    const first = await claim({ claimId, userIds: both })
    const again = await claim({ claimId, userIds: both.toReversed() })
    expect(refsOf(again)).toEqual(refsOf(first))
    expect(again.claim?.ticket).toEqual(first.claim?.ticket)
    expect(await why(claim({ claimId }))).toBe("IDEMPOTENCY_MISMATCH")
    expect(await why(claim({ claimId, deviceIds: [bob.id] }))).toBe("IDEMPOTENCY_MISMATCH")
    // Somebody else's id, by whoever is in the conversation too.
    expect(await why(claim({ claimId, userIds: both }, bob))).toBe("IDEMPOTENCY_MISMATCH")
  })

  test("for a conversation that the caller is not in, or that is not, is refused alike", async () => {
    const stranger = await registered("stranger")
    const missing = newId("cnv", Date.now(), randomBytes(10))
    expect(await refusal(claim({}, stranger))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    expect(await refusal(claim({ conversationId: missing }, stranger))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
  })

  test("of users and devices elsewhere, or that are not, is refused alike", async () => {
    const tenantId = newId("ten", Date.now(), randomBytes(10))
    await openPlace(server.deps.store, { appId: server.app.id, tenantId, contextId: null })
    const elsewhere = await newDevice(connect(), await server.person("elsewhere", { tenantId }))
    await elsewhere.register()
    const [user, device] = [idOf("prn", randomBytes(16)), idOf("dev", randomBytes(16))]
    for (const change of [{ userIds: [user] }, { userIds: [], deviceIds: [device] }, { deviceIds: [elsewhere.id] }]) {
      expect(await refusal(claim(change))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    }
    // Of the tenant's own conversations nothing is seen from outside of it, and the other way round.
    expect(await refusal(claim({}, elsewhere))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    expect(await refusal(elsewhere.calls.devices.listDevices({ userId: ada.userId }))).toBe(
      "PermissionDenied RESOURCE_UNRESOLVED",
    )
  })

  test("of whoever has none says which devices have none", async () => {
    const empty = await registered("empty")
    const error = await claim({ userIds: [empty.userId] }).catch((thrown) => ConnectError.from(thrown))
    if (!(error instanceof ConnectError)) return expect.fail()
    expect(error.findDetails(NoKeyPackageSchema)[0]?.deviceIds).toEqual([empty.id])
  })

  test("gives a package once: of fifty at once for ten packages, ten get one, and the rest the last resort", async () => {
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

  test("gets nothing of a device that was revoked", async () => {
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
  test("is its device's alone, is consumed once, and by one key", async () => {
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

  test("is void once its device is revoked, and members are told to remove it", async () => {
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

const keysOf = ({ publicKey, seed }: ReturnType<typeof newLeafKey>) => ({ signatureKey: publicKey, key: seed })
