// Validly signed device lists that contradict each other: the issuer equivocates.
import { createRouterTransport } from "@connectrpc/connect"
import { issueDeviceCredential } from "@signet/canonical/device-credential"
import { issueDeviceList, maxListAheadSeconds } from "@signet/canonical/device-list"
import { verifyEd25519 } from "@signet/canonical/ed25519"
import { hash } from "@signet/canonical/hash"
import { issueIssuerKeySet, verifyIssuerKeySet } from "@signet/canonical/issuer-keys"
import { DeviceStatus } from "@signet/proto/credential/v1/device_list"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { expect, test } from "vitest"
import * as world from "../../../../proto/canonical/testing/world.ts"
import { makeCalls } from "../calls.ts"
import { idOf } from "../ids.ts"
import { readDevices } from "./device-lists.ts"

const { listFields, listKey, alice, appId, tenantId, bytes32, now, day, id, credentialBytes } = world
const [phone, tablet] = listFields.entries
if (phone === undefined || tablet === undefined) throw new Error("two devices")
const userId = idOf("prn", alice)

interface Change {
  readonly previous?: Uint8Array
  readonly entries?: readonly (typeof phone)[]
  readonly issuedAt?: bigint
}
const signed = (listVersion: bigint, { previous, entries = [phone, tablet], issuedAt = now - day }: Change = {}) =>
  issueDeviceList(
    { ...listFields, listVersion, previousHash: previous ?? bytes32(0xe1), entries: [...entries], issuedAt },
    listKey,
  )
const hashOf = (list: Uint8Array) => hash("device-list", list)

/** Reads the devices from a service that has these lists. */
function read(
  lists: ReadonlyMap<bigint, Uint8Array>,
  seen?: { version: bigint; hash: Uint8Array },
  ahead = 0n,
  credential = credentialBytes,
  issuer = { keys: () => world.issuerKeys, refresh: async () => world.issuerKeys },
) {
  const newestVersion = ahead + [...lists.keys()].reduce((newest, version) => (version > newest ? version : newest), 0n)
  const transport = createRouterTransport(({ service }) => {
    service(DeviceService, {
      listDeviceLists: ({ afterVersion, limit }) => ({
        newestVersion,
        deviceLists: [...lists]
          .filter(([version]) => version > afterVersion || ahead > 0n)
          .slice(0, limit)
          .map(([, list]) => list),
      }),
      listDevices: () => ({ devices: [{ credential }] }),
    })
  })
  const clock = { nowMs: () => Number(now) * 1_000, after: () => () => undefined }
  const session = { accessToken: async () => "", renewToken: async () => "" }
  const random = { bytes: (length: number) => new Uint8Array(length) }
  const calls = makeCalls({ transport, session, device: () => undefined, clock, random })
  const owner = { appId: "", tenantId: "", userId: "", app: appId, tenant: tenantId, user: id(1) }
  return readDevices({ calls, owner, issuer, verify: verifyEd25519, clock }, userId, seen)
}

const third = await signed(3n)
const fourth = await signed(4n, { previous: hashOf(third) })
const fifth = await signed(5n, { previous: hashOf(fourth) })
const seen = { version: 3n, hash: hashOf(third) }
const deviceId = idOf("dev", phone.deviceId)

test("the first read trusts the newest list, and later reads only its successors", async () => {
  const lists = new Map([
    [3n, third],
    [4n, fourth],
    [5n, fifth],
  ])
  const head = { version: 5n, hash: hashOf(fifth) }
  const active = [{ userId, deviceId, key: world.leaf.publicKey }]
  expect(await read(lists)).toEqual({ head, active })
  expect(await read(lists, seen)).toEqual({ head, active })
  expect(await read(lists, head)).toEqual({ head, active })
  expect(await read(new Map())).toEqual({ head: undefined, active: [] })
})

const nextFields = { ...listFields, listVersion: 4n, previousHash: seen.hash, issuedAt: now - day }
const withThird = (version: bigint, list: Uint8Array) => new Map([[3n, third]]).set(version, list)
test.each<[string, ReadonlyMap<bigint, Uint8Array>, string]>([
  ["another list of the seen version", new Map([[3n, await signed(3n, { issuedAt: now })]]), "DEVICE_LIST_FORK"],
  ["a next list with another predecessor", withThird(4n, await signed(4n)), "DEVICE_LIST_FORK"],
  ["a list after a gap", withThird(5n, fifth), "DEVICE_LIST_FORK"],
  ["an older list", new Map([[2n, await signed(2n)]]), "LIST_ROLLBACK"],
  ["no list any more", new Map(), "LIST_ROLLBACK"],
  [
    "a list that reactivates a revoked device",
    withThird(
      4n,
      await signed(4n, { previous: seen.hash, entries: [phone, { ...tablet, status: DeviceStatus.ACTIVE }] }),
    ),
    "DEVICE_LIST_FORK",
  ],
  [
    "a list that omits a revoked device",
    withThird(4n, await signed(4n, { previous: seen.hash, entries: [phone] })),
    "DEVICE_LIST_FORK",
  ],
  [
    "a list that omits an active device",
    withThird(4n, await signed(4n, { previous: seen.hash, entries: [tablet] })),
    "DEVICE_LIST_FORK",
  ],
  [
    "a list from tomorrow",
    withThird(4n, await signed(4n, { previous: seen.hash, issuedAt: now + day })),
    "LIST_FROM_FUTURE",
  ],
  [
    "a list signed by an unknown key",
    withThird(4n, await issueDeviceList(nextFields, world.strangerKey)),
    "LIST_UNKNOWN_ISSUER_KEY",
  ],
  [
    "a list signed by a key of another purpose",
    withThird(4n, await issueDeviceList(nextFields, world.proofKey)),
    "LIST_ISSUER_KEY_PURPOSE",
  ],
  [
    "a list of another user",
    withThird(4n, await issueDeviceList({ ...nextFields, userId: world.bob }, listKey)),
    "LIST_WRONG_USER",
  ],
  [
    "a list of another tenant",
    withThird(4n, await issueDeviceList({ ...nextFields, tenantId: id(0x99) }, listKey)),
    "LIST_WRONG_TENANT",
  ],
  [
    "a list of another app",
    withThird(4n, await issueDeviceList({ ...nextFields, appId: id(0x99) }, listKey)),
    "LIST_WRONG_APP",
  ],
  ["a malformed list", withThird(4n, Uint8Array.of(1, 2, 3)), "CPB_"],
])("%s is refused", async (_, lists, code) => {
  await expect(read(lists, seen)).rejects.toMatchObject({ code: expect.stringContaining(code) })
})

test("a user's first list is read, and a chain of any length", async () => {
  let last = await signed(1n, { previous: new Uint8Array() })
  const lists = new Map([[1n, last]])
  expect(await read(lists)).toMatchObject({ head: { version: 1n }, active: [{ userId, deviceId }] })
  const first = { version: 1n, hash: hashOf(last) }
  for (let version = 2n; version <= 22n; version++) {
    last = await signed(version, { previous: hashOf(last) })
    lists.set(version, last)
  }
  expect(await read(lists, first)).toMatchObject({ head: { version: 22n, hash: hashOf(last) } })
})

test("a credential that the signed list does not name is refused", async () => {
  const other = await signed(3n, { entries: [{ ...phone, credentialHash: bytes32(7) }] })
  await expect(read(new Map([[3n, other]]))).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
})

test.each([
  ["device", { deviceId: id(0x68) }],
  ["user", { userId: world.bob }],
  ["app", { appId: id(0x99) }],
  ["tenant", { tenantId: id(0x99) }],
])("a listed credential of another %s is refused", async (_, change) => {
  const other = await issueDeviceCredential({ ...world.credentialFields, ...change }, world.credentialKey)
  const list = await signed(3n, { entries: [{ ...phone, credentialHash: hash("device-credential", other) }] })
  await expect(read(new Map([[3n, list]]), undefined, 0n, other)).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
})

test("a service that repeats a page and announces more lists is not queried forever", async () => {
  const again = read(new Map([[3n, third]]), seen, 2n ** 60n)
  await expect(again).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
})

test("a newest version below a returned list is refused", async () => {
  const lists = new Map([
    [3n, third],
    [4n, fourth],
  ])
  await expect(read(lists, seen, -1n)).rejects.toMatchObject({ code: "LIST_ROLLBACK" })
})

test("a newest version without a list is refused, for a known user and a new one", async () => {
  await expect(read(new Map(), seen, 3n)).rejects.toMatchObject({ code: "LIST_ROLLBACK" })
  await expect(read(new Map(), undefined, 3n)).rejects.toMatchObject({ code: "LIST_ROLLBACK" })
})

test("a listed device without a credential is refused, and a list without active devices needs none", async () => {
  const other = await issueDeviceCredential({ ...world.credentialFields, serial: 9n }, world.credentialKey)
  await expect(read(new Map([[3n, third]]), undefined, 0n, other)).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
  const revoked = await signed(3n, { entries: [{ ...phone, status: DeviceStatus.REVOKED }] })
  expect(await read(new Map([[3n, revoked]]), undefined, 0n, other)).toMatchObject({ active: [] })
})

test("a list may be issued ahead by the accepted clock difference, and not by a second more", async () => {
  const ahead = (seconds: bigint) =>
    signed(4n, { previous: seen.hash, issuedAt: now + seconds }).then((list) => withThird(4n, list))
  expect(await read(await ahead(maxListAheadSeconds), seen)).toMatchObject({ head: { version: 4n } })
  await expect(read(await ahead(maxListAheadSeconds + 1n), seen)).rejects.toMatchObject({ code: "LIST_FROM_FUTURE" })
})

test("a list of a new issuer key is read after a refresh, and a seen list needs no key", async () => {
  const { keys, issuerId } = world.keySetFields
  const without = await issueIssuerKeySet({ ...world.keySetFields, keys: keys.slice(0, 3) }, world.root)
  const old = verifyIssuerKeySet(without, { roots: [world.root.publicKey], issuerId, atSeconds: now })
  let [current, refreshes] = [old, 0]
  const issuer = {
    keys: () => current,
    async refresh() {
      refreshes++
      current = world.issuerKeys
      return current
    },
  }
  expect(await read(new Map([[3n, third]]), seen, 0n, credentialBytes, issuer)).toMatchObject({ head: seen })
  expect(refreshes).toBe(0)
  const lists = withThird(4n, fourth)
  expect(await read(lists, seen, 0n, credentialBytes, issuer)).toMatchObject({ head: { version: 4n } })
  expect(refreshes).toBe(1)
  const wrong = withThird(4n, await issueDeviceList({ ...nextFields, appId: id(0x99) }, listKey))
  await expect(read(wrong, seen, 0n, credentialBytes, issuer)).rejects.toMatchObject({ code: "LIST_WRONG_APP" })
  expect(refreshes).toBe(1)
})
