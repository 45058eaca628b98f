// Attempts to see and to revoke messaging devices of other people outside of the caller's reach: at the service beside
// the auth service, at a backend elsewhere, and by a broken backend with an administrator's token.
import { type Client, Code, createClient, type Transport } from "@connectrpc/connect"
import { verifyDeviceList } from "@signet/canonical/device-list"
import { hash } from "@signet/canonical/hash"
import { newId, type TenantId } from "@signet/kernel/ids"
import { ListedDevice_Status } from "@signet/proto/authority/v1/authority_service"
import { DeviceStatus } from "@signet/proto/credential/v1/device_list"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { Device_Status } from "@signet/proto/messaging/v1/records"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer, refusal } from "../support/clients.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { bytesOf, nowSeconds, randomBytes, verify } from "../support/messaging/device-parts.ts"
import type { SignedIn } from "../support/messaging/world.ts"
import { claimsOf } from "../support/people.ts"
import {
  alice,
  at,
  authority,
  backend,
  bob,
  forged,
  now,
  openScene,
  own,
  place,
  server,
  tokenOf,
  why,
} from "./backend-scene.ts"

const { ACTIVE, REVOKED } = ListedDevice_Status
const both = ["messaging.devices.read", "messaging.devices.write"]
/** Bob administers the app. */
const administrator = (change: object = {}) => forged(bob, { scp: both, ...change })

const as = async (person: SignedIn, change: object = {}) =>
  server.keys.sign("at+jwt", { ...claimsOf(person.accessToken), scp: both, ...change })

let tenantId: TenantId
let tenantAdmin: SignedIn
beforeAll(async () => {
  await openScene()
  tenantId = fresh("ten")
  tenantAdmin = await server.person("an administrator of a tenant", { tenantId })
})
afterAll(() => server?.close())

const backends: readonly [string, () => Transport][] = [
  ["beside the auth service", () => server.transport],
  ["at a backend elsewhere", () => backend.transport],
]

describe.each(backends)("devices of a person %s", (_, transport) => {
  let calls: Client<typeof DeviceService>
  /** Two devices of one person. */
  let phone: TestDevice
  let laptop: TestDevice
  beforeAll(async () => {
    calls = createClient(DeviceService, transport())
    const session = await server.person(crypto.randomUUID())
    phone = await newDevice(transport(), session)
    await phone.register()
    laptop = await newDevice(transport(), await session.again())
    await laptop.register()
  })
  const list = async (token: string, change: object = {}) =>
    (await calls.listUserDevices({ userId: phone.userId, ...change }, bearer(token))).devices
  const revoke = async (token: string, change: object = {}) =>
    (await calls.revokeUserDevices({ userId: phone.userId, ...change }, bearer(token))).revokedDevices

  test("are listed only with the scope, and only where the caller administers", async () => {
    const denied = "PermissionDenied RESOURCE_UNRESOLVED"
    const attempts: [string, Promise<string> | string, object, string][] = [
      ["a member", administrator({ scp: ["messaging.read", "messaging.write"] }), {}, "PermissionDenied MISSING_SCOPE"],
      ["one of members", administrator({ scp: ["auth.members.write"] }), {}, "PermissionDenied MISSING_SCOPE"],
      ["one of a tenant", as(tenantAdmin), {}, denied],
      ["one of a tenant, for another", as(tenantAdmin), { tenantId: fresh("ten") }, denied],
      ["one of the app, for a tenant where the person is not", administrator(), { tenantId }, denied],
      ["one of the app, for an unknown person", administrator(), { userId: fresh("prn") }, denied],
    ]
    for (const [who, asked, request, reason] of attempts) {
      const token = await asked
      expect([who, await refusal(list(token, request))]).toEqual([who, reason])
      expect([who, await refusal(revoke(token, request))]).toEqual([who, reason])
    }
    // A token without a session may read.
    const pat = await administrator({ sid: undefined, pat_id: fresh("pat") })
    expect(await refusal(revoke(pat))).toMatch(/PRINCIPAL_KIND_NOT_ALLOWED|Unauthenticated/)
    const readOnly = await administrator({ scp: ["messaging.devices.read"] })
    expect((await list(readOnly)).map(({ id }) => id).toSorted()).toEqual([phone.id, laptop.id].toSorted())
    expect(await refusal(revoke(readOnly))).toBe("PermissionDenied MISSING_SCOPE")
  })

  test("are revoked one by one, and all, with their sessions; another person's are not", async () => {
    const token = await administrator()
    expect(await refusal(revoke(token, { deviceIds: [alice.id] }))).toBe("NotFound NOT_FOUND")
    expect(await refusal(revoke(token, { deviceIds: [phone.id, alice.id] }))).toBe("NotFound NOT_FOUND")
    expect(await revoke(token, { deviceIds: [phone.id] })).toBe(1)
    expect(await revoke(token, { deviceIds: [phone.id] })).toBe(0)
    const statuses = async () =>
      new Map(
        (await list(token)).map(
          ({ id, status }) => [id, status === Device_Status.ACTIVE ? "ACTIVE" : "REVOKED"] as const,
        ),
      )
    expect(await statuses()).toEqual(
      new Map([
        [laptop.id, "ACTIVE"],
        [phone.id, "REVOKED"],
      ]),
    )
    const { deviceLists } = await laptop.calls.devices.listDeviceLists({})
    const newest = verifiedList(laptop, deviceLists.at(-1) ?? expect.fail("no list"))
    expect(newest.entries.filter(({ status }) => status === DeviceStatus.ACTIVE)).toHaveLength(1)
    // The session of the revoked device has ended, and the other one continues.
    await laptop.session.refresh()
    await expect(phone.session.refresh()).rejects.toMatchObject({ code: Code.Unauthenticated })
    expect(await revoke(token)).toBe(1)
    expect(await revoke(token)).toBe(0)
    expect(new Set((await statuses()).values())).toEqual(new Set(["REVOKED"]))
  })
})

test("each revocation names the administrator and the person in the audit, and each refusal is recorded", async () => {
  const events = await server.store.db
    .selectFrom("audit_event")
    .select(["kind", "outcome", "actor_principal_id", "reason"])
    .where("request_route", "like", "%UserDevices")
    .execute()
  const revoked = events.filter(({ kind }) => kind === "device.revoked")
  expect(revoked.map(({ actor_principal_id }) => actor_principal_id)).toEqual([bob.userId, bob.userId])
  const reasons = new Set(events.filter(({ kind }) => kind === "authz.denied").map(({ reason }) => reason))
  expect([...reasons]).toEqual(expect.arrayContaining(["TENANT_MISMATCH", "MISSING_SCOPE", "RESOURCE_UNRESOLVED"]))
  const every = { outcome: null, principalId: null, targetType: null, targetId: null, fromMs: null, untilMs: null }
  const filter = { kinds: ["authz.denied"], appId: null, tenantId: null, contextId: null, ...every }
  const denied = await server.deps.store.transaction((tx) => tx.audit.list(filter, { size: 200, before: null }))
  // Nothing is known of a caller whose token does not verify.
  const decided = denied.filter(
    ({ request, actorPrincipalId }) => request.route.endsWith("UserDevices") && actorPrincipalId !== null,
  )
  expect(decided.length).toBeGreaterThan(2)
  for (const { reason, denial } of decided) {
    expect(denial?.requirement).toContain("messaging.devices.")
    expect(denial?.missing).toBe(reason === "MISSING_SCOPE" ? /scope\((.+)\)/.exec(denial?.requirement ?? "")?.[1] : "")
  }
})

test("a token of a context administers no devices", async () => {
  const calls = createClient(DeviceService, backend.transport)
  const token = await as(tenantAdmin, { context_id: fresh("ctx") })
  const list = calls.listUserDevices({ userId: tenantAdmin.userId }, bearer(token))
  expect(await refusal(list)).toBe("PermissionDenied RESOURCE_UNRESOLVED")
  const allowed = calls.listUserDevices({ userId: tenantAdmin.userId }, bearer(await as(tenantAdmin)))
  expect((await allowed).devices).toEqual([])
})

describe("a broken backend with an administrator's token", () => {
  /** Alice's newest list, as the backend stores it. */
  const before = async () => {
    const { deviceLists } = await alice.calls.devices.listDeviceLists({ limit: 20 })
    return deviceLists.at(-1) ?? expect.fail("no list")
  }
  const asked = async (change: object = {}) => {
    const previousList = await before()
    const { entries, listVersion } = verifiedList(alice, previousList)
    const { devices } = await alice.calls.devices.listDevices({})
    return {
      callerToken: await administrator(),
      place: place(),
      userId: alice.userId,
      version: listVersion + 1n,
      previousHash: hash("device-list", previousList),
      previousList,
      entries: entries.map(({ credentialHash }, i) => ({
        deviceId: idOfEntry(devices, credentialHash),
        credentialHash,
        status: i === 0 ? REVOKED : ACTIVE,
        changedAt: at(),
      })),
      issuedAt: at(),
      ...change,
    }
  }
  const sign = async (change: object = {}) => why(authority.signDeviceList(await asked(change), own))

  test("gets a signature only for revocations that follow the person's own list", async () => {
    const { entries, version, previousList } = await asked()
    const added = { deviceId: fresh("dev"), credentialHash: randomBytes(32), status: ACTIVE, changedAt: at() }
    const attempts: [string, object, string][] = [
      ["adds a device", { entries: [...entries, added] }, "NOT_THE_CALLERS entries"],
      ["replaces a device", { entries: [...entries.slice(1), added] }, "NOT_THE_CALLERS entries"],
      ["omits a device", { entries: entries.slice(1) }, "NOT_THE_CALLERS entries"],
      ["names a device twice", { entries: [...entries.slice(1), ...entries.slice(1)] }, "NOT_THE_CALLERS entries"],
      [
        "replaces a credential",
        { entries: entries.map((one) => ({ ...one, credentialHash: randomBytes(32) })) },
        "NOT_THE_CALLERS entries",
      ],
      ["skips a version", { version: version + 1n }, "NOT_THE_CALLERS previous_list"],
      ["names another predecessor", { previousHash: randomBytes(32) }, "NOT_THE_CALLERS previous_list"],
      ["changes the predecessor", { previousList: flipped(previousList) }, "CREDENTIAL_INVALID LIST_BAD_SIGNATURE"],
      ["uses another person's list", { userId: bob.userId }, "CREDENTIAL_INVALID LIST_WRONG_USER"],
      ["has no scope", { callerToken: tokenOf(bob) }, "CALLER_REFUSED MISSING_SCOPE"],
      ["has a token of a tenant", { callerToken: await as(tenantAdmin) }, "NOT_THE_CALLERS place"],
      ["omits the list", { previousList: new Uint8Array() }, "CALLER_REFUSED MISSING_SCOPE"],
    ]
    for (const [what, change, refused] of attempts) {
      expect([what, await sign(change)]).toEqual([what, refused])
    }
    expect(await sign()).toBe("taken")
  })

  test("cannot restore a revoked device", async () => {
    const request = await asked()
    const { deviceList } = await authority.signDeviceList(request, own)
    const restored = {
      ...request,
      version: request.version + 1n,
      previousList: deviceList,
      previousHash: hash("device-list", deviceList),
      entries: request.entries.map((one) => ({ ...one, status: ACTIVE })),
    }
    expect(await why(authority.signDeviceList(restored, own))).toBe("NOT_THE_CALLERS entries")
  })
})

const fresh = <K extends Parameters<typeof newId>[0]>(kind: K) => newId(kind, now(), randomBytes(10))

function idOfEntry(devices: readonly { id: string; credentialHash: Uint8Array }[], of: Uint8Array): string {
  return devices.find(({ credentialHash }) => Buffer.compare(credentialHash, of) === 0)?.id ?? expect.fail("no device")
}

function flipped(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(bytes)
  copy[copy.length - 1] = (copy.at(-1) ?? 0) ^ 1
  return copy
}

function verifiedList({ issuerKeys, place, userId }: TestDevice, bytes: Uint8Array) {
  const at = { ...place, userId: bytesOf("prn", userId), atSeconds: BigInt(nowSeconds()) }
  return verifyDeviceList(bytes, { issuerKeys, ...at, verify }).body
}
