import { randomBytes } from "node:crypto"
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { Code, ConnectError, createRouterTransport, type Transport } from "@connectrpc/connect"
import { decode } from "@signet/canonical/canonical"
import { parseSigned } from "@signet/canonical/signed"
import { StoreHeaderSchema } from "@signet/proto/client/v1/records"
import {
  type DeviceRequestBodyV1,
  DeviceRequestBodyV1Schema,
  StorageClass,
} from "@signet/proto/credential/v1/device_request"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { expect, test } from "vitest"
import * as world from "../../../proto/canonical/testing/world.ts"
import { suite, verify } from "../../../test/support/messaging/device-parts.ts"
import type { SecretBox, SecretBoxDescription, SecretScope } from "../secret-box.ts"
import { idOf } from "./ids.ts"
import type { Messenger, MessengerOptions } from "./messenger.ts"
import { openContext } from "./open.ts"
import { contextOf } from "./opened-messengers.ts"
import { openMemoryStore } from "./store/memory.ts"
import { deviceSpace, type MessagingStore } from "./store/store.ts"
import { signedEngine } from "./testing/signed-group.ts"
import { testBox } from "./testing/test-box.ts"

const noTransport = {
  unary: () => Promise.reject(new Error("nothing is sent")),
  stream: () => Promise.reject(new Error("nothing is sent")),
} satisfies Transport

function optionsWith(change: Partial<MessengerOptions>): MessengerOptions {
  const nobody = async () => expect.fail("nobody is asked for a token")
  return {
    messaging: { baseUrl: "https://messages.example", issuerRootKeys: [] },
    session: {
      appId: idOf("app", new Uint8Array(16)),
      tenantId: undefined,
      userId: idOf("prn", new Uint8Array(16)),
      accessToken: nobody,
      renewToken: nobody,
    },
    transport: noTransport,
    store: openMemoryStore(),
    secretBox: testBox(),
    clock: { nowMs: () => 0, after: () => () => undefined },
    random: { bytes: (length) => new Uint8Array(randomBytes(length)) },
    platform: "test",
    ...change,
  }
}

test.each([
  "http://messages.example",
  "https://messages.example/",
  "https://ann:password@messages.example",
  "https://messages.example?tenant=1",
  "ftp://messages.example",
  "messages.example",
])("no token is sent to %s", async (baseUrl) => {
  const options = optionsWith({ messaging: { baseUrl, issuerRootKeys: [] } })
  await expect(openContext(options, { suite, verify })).rejects.toMatchObject({ reason: "CONFIGURATION_INVALID" })
})

/** Opens a store that has this header. */
async function openWith(header: MessageInitShape<typeof StoreHeaderSchema>, more: readonly number[] = []) {
  const options = optionsWith({})
  const { appId, userId } = options.session
  const own = {
    formatVersion: 1,
    storeId: new Uint8Array(16),
    boxBackend: "test",
    appId,
    userId,
    issuer: "https://auth.example",
  }
  const value = Uint8Array.from([
    ...toBinary(StoreHeaderSchema, create(StoreHeaderSchema, { ...own, ...header })),
    ...more,
  ])
  await options.store.transact(deviceSpace, 0n, [{ op: "create", table: "header", key: "store", value }])
  return openContext(options, { suite, verify })
}

test.each<[string, MessageInitShape<typeof StoreHeaderSchema>, string]>([
  ["another user", { userId: idOf("prn", new Uint8Array(16).fill(1)) }, "WRONG_USER"],
  ["another app", { appId: idOf("app", new Uint8Array(16).fill(1)) }, "WRONG_USER"],
  ["a tenant, for a session without one", { tenantId: idOf("ten", new Uint8Array(16).fill(1)) }, "WRONG_USER"],
  ["another secret box", { boxBackend: "another" }, "SECURE_STORE_CHANGED"],
  ["a later version", { formatVersion: 2 }, "STATE_NEWER_VERSION"],
  ["a version that never was", { formatVersion: 0 }, "STATE_TAMPERED"],
  ["a shorter id", { storeId: new Uint8Array(15) }, "STATE_TAMPERED"],
  ["no issuer", { issuer: "" }, "STATE_TAMPERED"],
])("a store of %s does not open", async (_, header, reason) => {
  await expect(openWith(header)).rejects.toMatchObject({ name: "MessagingError", reason })
})

test("a store with an unknown header field does not open", async () => {
  // Field 99, a varint.
  await expect(openWith({}, [0x98, 0x06, 1])).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
})

test("a token without an issuer creates no store", async () => {
  const store = openMemoryStore()
  const { session } = optionsWith({})
  for (const token of ["", "no token", `e30.${Buffer.from('{"iss":7}').toString("base64url")}.`]) {
    const options = optionsWith({ store, session: { ...session, accessToken: async () => token } })
    await expect(openContext(options, { suite, verify })).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
  }
  expect(await store.spaces()).toEqual([])
})

/** The platform's parts that a registration names. */
interface Platform {
  readonly box: Partial<SecretBoxDescription>
  readonly durability: MessagingStore["durability"]
}

/** Registers a new device of a tenant. @returns What the service was asked for, and the scopes of the sealing keys. */
async function registering({ box, durability }: Platform) {
  const tenantId = idOf("ten", new Uint8Array(16).fill(2))
  const [asked, scopes]: [DeviceRequestBodyV1[], SecretScope[]] = [[], []]
  const transport = createRouterTransport(({ service }) => {
    service(DeviceService, {
      getIssuerKeys: () => ({ issuerKeySet: world.keySetBytes }),
      registerDevice({ deviceRequest }) {
        asked.push(decode(DeviceRequestBodyV1Schema, parseSigned(DeviceRequestBodyV1Schema, deviceRequest).body))
        throw new ConnectError("asked", Code.Unavailable)
      },
    })
  })
  const inner = testBox()
  const secretBox: SecretBox = {
    ...inner,
    describe: () => ({ ...inner.describe(), persistent: true, ...box }),
    createKey(scope) {
      scopes.push(scope)
      return inner.createKey(scope)
    },
  }
  const token = `e30.${Buffer.from(JSON.stringify({ iss: world.issuerUrl })).toString("base64url")}.`
  const options = optionsWith({ transport, secretBox, store: { ...openMemoryStore(), durability } })
  const opening = openContext(
    {
      ...options,
      messaging: { ...options.messaging, issuerRootKeys: [world.root.publicKey] },
      clock: { ...options.clock, nowMs: () => Number(world.now) * 1_000 },
      session: { ...options.session, tenantId, accessToken: async () => token },
    },
    { suite, verify, openEngine: async () => signedEngine },
  )
  await expect(opening).rejects.toThrow("asked")
  return { tenantId, asked, scopes }
}

test("a store of a tenant is sealed for that tenant", async () => {
  const { tenantId, asked, scopes } = await registering({ box: {}, durability: "persistent" })
  expect(scopes).toEqual([
    { tenant: tenantId, app: expect.any(String), user: expect.any(String), device: expect.any(String) },
  ])
  expect(asked.map(({ tenantId: bytes }) => idOf("ten", bytes))).toEqual([tenantId])
})

test.each<[string, Platform, StorageClass]>([
  ["memory", { box: { hardware: true }, durability: "memory" }, StorageClass.MEMORY],
  ["a box that forgets", { box: { hardware: true, persistent: false }, durability: "persistent" }, StorageClass.MEMORY],
  ["hardware", { box: { hardware: true }, durability: "best-effort" }, StorageClass.HARDWARE],
  ["a passphrase", { box: { backend: "passphrase" }, durability: "persistent" }, StorageClass.PASSPHRASE],
  ["the platform", { box: { backend: "macos-keychain" }, durability: "persistent" }, StorageClass.PLATFORM],
])("a device whose keys are in %s states it in its request", async (_, platform, expected) => {
  const { asked } = await registering(platform)
  expect(asked.map(({ storageClass }) => storageClass)).toEqual([expected])
})

test("an entry that a page loads separately refuses a messenger of another package", () => {
  // Only the fields of a messenger: no context was stored for it.
  const other = { deviceId: "" } as Messenger
  expect(() => contextOf(other)).toThrow(
    new TypeError(
      "the messenger runs in a Worker, or was not opened by createMessenger of the package of this function",
    ),
  )
})
