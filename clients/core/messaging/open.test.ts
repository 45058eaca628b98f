import { randomBytes } from "node:crypto"
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import type { Transport } from "@connectrpc/connect"
import { StoreHeaderSchema } from "@signet/proto/client/v1/records"
import { expect, test } from "vitest"
import { suite, verify } from "../../../test/support/messaging/device-parts.ts"
import { idOf } from "./ids.ts"
import type { MessengerOptions } from "./messenger.ts"
import { openContext } from "./open.ts"
import { openMemoryStore } from "./store/memory.ts"
import { deviceSpace } from "./store/store.ts"
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

test("a store with a header field that nobody knows does not open", async () => {
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
