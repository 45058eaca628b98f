// What the specification says must not be exposed or implemented, item by item. What packages export is in surface.test.ts.
import { randomBytes } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { inspect } from "node:util"
import { create, toBinary } from "@bufbuild/protobuf"
import { createMessenger, openMemoryStore } from "@signet/client-node/messaging"
import { OpenResponseSchema } from "@signet/proto/client/v1/messenger_service"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createMessengerWith } from "../clients/core/messaging/create-messenger.ts"
import type { Messenger } from "../clients/core/messaging/messenger.ts"
import { testBox } from "../clients/core/messaging/testing/test-box.ts"
import { openMessenger } from "../clients/react-native/messenger.ts"
import { createTaint, taintedSuite } from "../clients/react-native/testing/taint.ts"
import { callsOver } from "./support/messaging/calls.ts"
import { type Messengers, messengersOn } from "./support/messaging/messengers.ts"
import { type MessagingServer, startMessagingServer } from "./support/messaging/test-server.ts"
import { storyStore } from "./support/postgres.ts"

const root = resolve(import.meta.dirname, "..")
const read = (path: string) => readFileSync(join(root, path), "utf8")
const filesOf = (folder: string, ending: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(ending) && !/node_modules|\.test\.ts$|(^|\/)testing\//.test(path))
    .map((path) => `${folder}/${path}`)

describe("a messenger gives an app", () => {
  let server: MessagingServer
  let messengers: Messengers
  let messenger: Messenger
  const taint = createTaint()
  beforeAll(async () => {
    server = await startMessagingServer({ store: storyStore })
    messengers = messengersOn(server)
    const [options, primitives] = messengers.optionsFor(await server.person("ann"), {
      store: openMemoryStore(),
      box: testBox(),
    })
    const random = {
      bytes(length: number) {
        const made = new Uint8Array(randomBytes(length))
        // Keys of files; what is shorter names or numbers something.
        if (length === 32) taint.add("a file's key", made)
        return made
      },
    }
    const suite = taintedSuite(primitives.suite, taint)
    messenger = await createMessengerWith({ ...options, random }, { ...primitives, suite, keyPackageTarget: 2 })
  })
  afterAll(async () => {
    await messenger?.close()
    await messengers?.close()
    await server?.close()
  })

  test("these operations, and no others", () => {
    expect(Object.keys(messenger).sort()).toEqual([
      ...["addMembers", "block", "blockedUsers", "cancelUpload", "close", "conversation", "conversations"],
      "createDirectConversation",
      ...["createGroupConversation", "destroyLocalState", "deviceId", "devices", "encryptMessage", "events", "leave"],
      ...[
        "openAttachment",
        "outbox",
        "processIncoming",
        "refreshKeys",
        "rejoin",
        "removeMembers",
        "revokeDevice",
        "run",
        "send",
      ],
      ...["sendAttachment", "startAnew", "subscribe", "sync", "timeline", "unblock", "uploads", "verification"],
    ])
    expect(Object.keys(messenger.verification).sort()).toEqual([
      ...["groupCode", "markVerified", "of", "qrCode", "scan", "status"],
    ])
  })

  test("in React Native the same ones, with files for attachments, and those of backups, histories and pushes", async () => {
    const core = {
      call: async () => toBinary(OpenResponseSchema, create(OpenResponseSchema, { deviceId: messenger.deviceId })),
      subscribe: () => () => {},
    }
    const messaging = { baseUrl: server.url, issuerRootKeys: [] }
    const native = await openMessenger(core, { messaging })
    const others = Object.keys(messenger).filter((name) => name !== "openAttachment")
    expect(Object.keys(native).sort()).toEqual([...others, "backup", "history", "push", "saveAttachment"].sort())
    expect(Object.keys(native.backup).sort()).toEqual([
      ...[
        "createRecoveryKey",
        "deleteStored",
        "exportTo",
        "listStored",
        "read",
        "restore",
        "saveStored",
        "stopStoring",
      ],
      "store",
    ])
    expect(Object.keys(native.history).sort()).toEqual([
      ...["cancel", "confirmCode", "grantByCode", "grantByQr", "requestByCode", "requestByQr", "requests", "run"],
    ])
    expect(Object.keys(native.push).sort()).toEqual(["delete", "set", "settings"])
  })

  test("no value with group state, a key, a group secret or a nonce, whatever it calls", async () => {
    const ben = await messengers.newcomer("ben")
    const given: unknown[] = [messenger]
    const ask = async <T>(answer: Promise<T>): Promise<T> => {
      given.push(await answer.catch((error: unknown) => error))
      return answer
    }
    messenger.subscribe((event) => given.push(event))
    await ask(messenger.sync())
    const { id } = await ask(messenger.createGroupConversation([ben.person.userId]))
    await ask(messenger.encryptMessage(id, new Uint8Array(9)))
    await ask(messenger.send(id, new Uint8Array(9)))
    const { seq } = await ask(messenger.sendAttachment(id, new Blob([new Uint8Array(99)]), { fileName: "a" }))
    const attachment = await ask(messenger.openAttachment(id, seq))
    await ask(attachment.read(0, 99))
    await ben.messenger.sync()
    await ben.messenger.send(id, new Uint8Array(9))
    const calls = callsOver(messengers.transport, { token: await ben.person.refresh(), device: undefined })
    const { envelopes } = await calls.conversations.listMessages({ conversationId: id, afterSeq: seq, limit: 9 })
    for (const envelope of envelopes) await ask(messenger.processIncoming({ conversationId: id, envelope }))
    await ask(messenger.refreshKeys(id))
    await ask(messenger.conversations())
    await ask(messenger.timeline(id))
    await ask(messenger.uploads(id))
    await ask(messenger.devices())
    const { safetyNumber } = await ask(messenger.verification.of(ben.person.userId))
    await ask(messenger.verification.markVerified(ben.person.userId, safetyNumber))
    await ask(messenger.verification.qrCode(ben.person.userId))
    await ask(messenger.verification.groupCode(id))
    await ask(messenger.removeMembers(id, [ben.person.userId]))
    await ask(messenger.send("cnv_none", new Uint8Array(1))).catch(() => undefined)
    await ask(messenger.leave(id))
    expect(taint.count).toBeGreaterThan(500)
    expect(taint.in(shown(given))).toEqual([])
    // And one would be seen.
    const key = randomBytes(32)
    taint.add("a key", key)
    expect(taint.in(shown([...given, { deep: { inside: new Uint8Array(key) } }]))).toEqual(["a key"])
  })

  test("no way to store state without a secret box", async () => {
    const store = openMemoryStore()
    const session = { appId: server.app.id, tenantId: undefined, userId: "prn_01kdvdna00edmtevk5ehj6axhg" }
    const tokens = {
      accessToken: () => server.person("cid").then((one) => one.accessToken),
      renewToken: async () => "",
    }
    const messaging = { baseUrl: server.url, issuerRootKeys: [server.issuerRootKey] }
    // @ts-expect-error There is no plain text to fall back to.
    await expect(createMessenger({ messaging, session: { ...session, ...tokens }, store })).rejects.toThrow(TypeError)
    expect(await store.spaces()).toEqual([])
  })
})

/** Everything that a script or a debugger could see of it, in hexadecimal and as numbers. */
function shown(given: unknown): string {
  const options = {
    depth: 20,
    showHidden: true,
    maxArrayLength: null,
    maxStringLength: null,
    breakLength: 1e9,
  } as const
  const json = JSON.stringify(given, (_, value: unknown) => {
    if (value instanceof Uint8Array) return Buffer.from(value).toString("hex")
    return typeof value === "bigint" ? `${value}` : value
  })
  return `${json}\n${inspect(given, options).replaceAll(/\s+/g, "")}`
}

test("no file of a server imports the engine, a client, or code that decrypts for members", () => {
  const files = filesOf("server", ".ts")
  expect(files.length).toBeGreaterThan(200)
  const found = files.flatMap((path) =>
    [...read(path).matchAll(/from "([^"]+)"/g)]
      .map(([, name = ""]) => name)
      .filter((name) => /^(ts-mls|@hpke|@noble\/ciphers|@signet\/client|@wireapp)|clients\//.test(name))
      .map((name) => `${path}: ${name}`),
  )
  expect(found).toEqual([])
})

test("clients use these packages: one engine, and no second end-to-end protocol", () => {
  const needs = (folder: string) => Object.keys(JSON.parse(read(`${folder}/package.json`)).dependencies ?? {})
  const all = ["core", "web", "node", "native", "react-native"].flatMap((name) => needs(`clients/${name}`))
  expect([...new Set(all)].filter((name) => !name.startsWith("@signet/")).sort()).toEqual([
    ...[
      "@bufbuild/protobuf",
      "@connectrpc/connect",
      "@connectrpc/connect-node",
      "@connectrpc/connect-web",
      "@hpke/core",
    ],
    ...["@napi-rs/keyring", "@noble/ciphers", "@noble/curves", "@noble/hashes", "hash-wasm", "ts-mls"],
  ])
  // And what an app chooses is where things are, and never how they are protected.
  const options =
    read("clients/core/messaging/messenger.ts").match(/interface MessengerOptions \{(.*?)\n\}/s)?.[1] ?? ""
  expect([...options.matchAll(/^ {2}readonly (\w+)/gm)].map(([, name]) => name)).toEqual([
    ...["messaging", "session", "transport", "store", "secretBox", "clock", "random", "whenKeysChange", "platform"],
  ])
})

test("a secret box has no operation that returns a key", () => {
  const box = read("clients/core/secret-box.ts").match(/interface SecretBox \{(.*?)\n\}/s)?.[1] ?? ""
  expect([...box.matchAll(/^ {2}(\w+)\??\(/gm)].map(([, name]) => name)).toEqual([
    ...["describe", "createKey", "seal", "open", "rotate", "destroy", "hold"],
  ])
})

test("signatures cover canonical bytes: signing code uses no JSON", () => {
  const files = [...filesOf("proto/canonical", ".ts"), ...filesOf("clients/core/messaging", ".ts")]
  const found = files.filter((path) => !/vectors\//.test(path) && /JSON\.stringify/.test(read(path)))
  expect(found).toEqual([])
})

test("the documents claim no privacy for data that the server sees", () => {
  const section = read("docs/reference/messaging.md").match(/## What the server sees\n(.*?)\n## /s)?.[1] ?? ""
  for (const seen of [
    ...["ids of tenants, apps, users and devices", "public keys", "who is in which conversation", "when that changed"],
    ...["who commits", "size of messages", "their time", "which device sent", "sizes and locations of attachments"],
    ...["IP addresses", "No more privacy than this is claimed"],
  ]) {
    expect(section).toContain(seen)
  }
  const pages = [...["docs", "clients", "proto", "server"].flatMap((folder) => filesOf(folder, ".md")), "README.md"]
  const claims = /untraceab|zero.?knowledge|sealed sender|metadata.?(privacy|private|free|resist)|hides? (who|whom)/i
  expect(pages.length).toBeGreaterThan(40)
  expect(pages.filter((path) => claims.test(read(path)))).toEqual([])
})
