// Key packages and credential requests from callers who may not make them, or in a form that is not allowed.
import { ConnectError } from "@connectrpc/connect"
import { issueDeviceRequest } from "@signet/canonical/device-request"
import type { SyncSigner } from "@signet/canonical/ed25519"
import { issuerIdOf } from "@signet/canonical/hash"
import { nodeSigner } from "@signet/canonical/node/ed25519"
import { idOf, parseId } from "@signet/kernel/ids"
import type { CredentialAuthority } from "@signet/kernel/messaging/authority"
import { StorageClass } from "@signet/proto/credential/v1/device_request"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createAuthority } from "../../server/keys/authority.ts"
import { protocols, refusal } from "../support/clients.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { bytesOf, engine, newLeafKey, nowSeconds, randomBytes } from "../support/messaging/device-parts.ts"
import { forgedKeyPackage } from "../support/messaging/forged.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
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

/** Returns "REASON CODE" of the refusal. */
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

  test("for another user's key is refused", async () => {
    const device = await newDevice(connect(), await server.person("mallory"))
    expect(await refusal(device.register(bob.key))).toBe("AlreadyExists DEVICE_KEY_TAKEN")
  })

  test("for the device's former key is refused", async () => {
    const device = await registered("nina")
    const former = device.key
    await device.renew(newLeafKey())
    expect(await refusal(device.renew(former))).toBe("AlreadyExists DEVICE_KEY_TAKEN")
    expect(await refusal(device.renew(bob.key))).toBe("AlreadyExists DEVICE_KEY_TAKEN")
  })
})

describe("an upload", () => {
  test("of another device's key package is refused", async () => {
    expect(await why(upload(await one(bob)))).toBe("CREDENTIAL_INVALID CRED_WRONG_DEVICE")
  })

  test("of a key package with a former credential is refused", async () => {
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
      authority.issueCredential(
        {
          place: app(),
          userId: parseId("prn", ada.userId) ?? expect.fail(),
          deviceId: parseId("dev", ada.id) ?? expect.fail(),
          leafKey: ada.key.publicKey,
          serial: 1n,
          notBeforeMs: Date.now() - 60_000,
          notAfterMs: Date.now() + 40 * 86_400_000,
          flags: 0,
          ...change,
        },
        new Uint8Array(),
      ),
    )
    const notBefore = nowSeconds() - 60
    const life = { notBefore, notAfter: notBefore + 30 * 86_400 }
    const { keyPackage } = await engine.newKeyPackage({ ...ada.identity, credential: bytes }, life)
    expect(await why(upload(keyPackage))).toBe(`CREDENTIAL_INVALID ${code}`)
  })

  test("of a key package whose leaf key is not in its credential is refused", async () => {
    const stolen = { ...ada, identity: { ...ada.identity, ...keysOf(newLeafKey()) } }
    const forged = await forgedKeyPackage(await one(), stolen.identity, ({ leafNode }) => ({
      leafNode: { ...leafNode, signaturePublicKey: stolen.identity.signatureKey },
    }))
    expect(await why(upload(forged))).toBe("CREDENTIAL_INVALID CRED_LEAF_KEY_MISMATCH")
  })

  test("of a key package with an invalid signature is refused", async () => {
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

  test("of a key package that is not of the stated use is refused", async () => {
    const [once, last] = [await one(), await one(ada, { isLastResort: true })]
    expect(await why(upload(once, { isLastResort: true }))).toBe("KEY_PACKAGE_INVALID KEY_PACKAGE_LAST_RESORT")
    expect(await why(upload(last))).toBe("KEY_PACKAGE_INVALID KEY_PACKAGE_LAST_RESORT")
  })

  test("of bytes that are no key package, or not in canonical encoding, is refused", async () => {
    const bytes = await one()
    expect(await why(upload(new Uint8Array(64)))).toContain("MLS_")
    expect(await why(upload(new Uint8Array([...bytes, 0])))).toContain("MLS_NON_CANONICAL")
    expect(await why(upload(bytes.subarray(0, -1)))).toContain("MLS_MALFORMED")
  })

  test("of an init key that was uploaded before is refused, by the same device and by another", async () => {
    const device = await registered("pia")
    const bytes = await one(device)
    await upload(bytes, { by: device })
    // The same bytes again are a repetition of the upload.
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

  test("with one invalid key package adds none", async () => {
    const device = await registered("quin")
    const packages = [await one(device), await one(bob)].map((keyPackage) => ({ keyPackage }))
    expect(await why(device.calls.keyPackages.uploadKeyPackages({ packages }))).toContain("CREDENTIAL_INVALID")
    expect((await device.calls.keyPackages.getInventory({})).inventory?.available).toBe(0)
  })
})

const keysOf = ({ publicKey, seed }: ReturnType<typeof newLeafKey>) => ({ signatureKey: publicKey, key: seed })
