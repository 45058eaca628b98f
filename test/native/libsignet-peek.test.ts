// A push extension on libsignet: what it shows, and how much memory it needs.
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { create, toBinary } from "@bufbuild/protobuf"
import { PeekOutcome, type PeekResponse } from "@signet/proto/client/v1/peek_service"
import { ListMessagesResponseSchema } from "@signet/proto/messaging/v1/conversation_service"
import { EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type CoreClient, clientOf } from "../../clients/native/wasm/client.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { type Messengers, messengersOn } from "../support/messaging/messengers.ts"
import { type Driver, startDriver } from "../support/native/driver.ts"
import { buildNative, whyNoLibrary } from "../support/native/library.ts"
import { anonymousBytes, forgetPeak, linearBytes, peakBytes, residentBytes } from "../support/native/memory.ts"
import { storyStore } from "../support/postgres.ts"

const megabyte = 1_000_000
const allowed = 20 * megabyte
const inMegabytes = (bytes: number) => (bytes / megabyte).toFixed(1)

interface Program extends CoreClient {
  readonly driver: Driver
}

/** Bytes of empty messages in field 1: two bytes each. */
const empties = (bytes: number) => new Uint8Array(bytes).map((_, at) => (at % 2 === 0 ? 0x0a : 0))

/** A page with a message of 4 MB. */
const longMessage = toBinary(
  ListMessagesResponseSchema,
  create(ListMessagesResponseSchema, {
    envelopes: [create(EnvelopeSchema, { seq: 2n, message: new Uint8Array(4 * megabyte).fill(7) })],
    headSeq: 2n,
  }),
)

/** A page with a text of 4 MB, which takes two bytes of memory for each character. */
const longText = toBinary(
  ListMessagesResponseSchema,
  create(ListMessagesResponseSchema, {
    envelopes: [create(EnvelopeSchema, { seq: 2n, senderDeviceId: `${"a".repeat(4 * megabyte)}€` })],
    headSeq: 2n,
  }),
)

function endless(response: ServerResponse): void {
  const piece = Buffer.alloc(100_000)
  const write = () => {
    while (!response.destroyed && response.write(piece));
  }
  response.on("drain", write)
  write()
}

const hostileAnswers: readonly [string, (response: ServerResponse) => void][] = [
  ["an endless page of messages", endless],
  ["empty messages, two bytes each", (response) => void response.end(empties(4 * megabyte))],
  ["a page with a long message", (response) => void response.end(longMessage)],
  ["a page with a long text", (response) => void response.end(longText)],
]

describe.skipIf(whyNoLibrary !== undefined || !isLong)(whyNoLibrary ?? "a push extension on libsignet", () => {
  let server: Deployment
  let messengers: Messengers
  let programs: string
  let folder: string
  const drivers: Driver[] = []
  const rooms: string[] = []
  beforeAll(async () => {
    folder = mkdtempSync(join(fastTmpdir(), "signet-peek-"))
    programs = (await buildNative()).folder
    server = await startDeployment({ store: storyStore })
    messengers = messengersOn(server, { keyPackages: 5 })
    const ann = await messengers.newcomer("ann of the peek")
    const ben = await start()
    const { credential, nonce = "" } = await server.login("ben of the peek")
    const idToken = credential?.case === "idToken" ? credential.value : ""
    const { user } = await ben.identity.login({ provider: "IDP_A", nonce, credential: { idToken } })
    await ben.messenger.open({ ...request(), keyPackages: 5 })
    await ben.messenger.sync()
    for (let count = 0; count < 3; count++) {
      rooms.push((await ann.messenger.createGroupConversation([user?.principalId ?? ""])).id)
    }
    await ben.messenger.sync()
    await ben.driver.stop()
    for (const id of rooms) {
      for (let one = 0; one < 7; one++) await ann.messenger.send(id, new Uint8Array(200_000).fill(one))
    }
  }, 900_000)
  afterAll(async () => {
    for (const driver of drivers) driver.kill()
    await messengers?.close()
    await server?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const request = (baseUrl = server.messagingUrl) => ({
    ...{ baseUrl, audience: server.audience, issuerRootKeys: [new Uint8Array(server.issuerRootKey)] },
  })

  /** With a box of the program: Argon2id of a passphrase alone takes 64 MiB. */
  async function start({ memoryLimitMib = 0, isSlow = false } = {}): Promise<Program> {
    const driver = startDriver(programs, "driver")
    drivers.push(driver)
    const identity = {
      ...{ appId: server.app.id, authBaseUrl: server.url, providers: ["IDP_A"], audiences: [server.audience] },
    }
    const box = { case: "wrappedBox", value: { backend: "test", version: 1 } } as const
    await driver.open({ identity, dataFolder: join(folder, "ben"), box, memoryLimitMib }, isSlow ? "slow" : "wrap")
    return { ...clientOf(driver), driver }
  }

  /** Clocks of a slow machine do not end its peek. The floor is a client that is open and has read its sign-in. */
  async function measured(program: Program, baseUrl?: string) {
    const { pid } = program.driver
    await program.identity.ready()
    const anonymous = inMegabytes(anonymousBytes(pid))
    const floor = { linear: linearBytes(pid), resident: residentBytes(pid) }
    forgetPeak(pid)
    const peeked = await program.peek.peek(request(baseUrl))
    const added = { linear: linearBytes(pid) - floor.linear, resident: peakBytes(pid) - floor.resident }
    const of = (what: "linear" | "resident") => `${what} ${inMegabytes(floor[what])} + ${inMegabytes(added[what])} MB`
    console.log(`a peek: ${of("linear")}, ${of("resident")}; anonymous before: ${anonymous} MB`)
    return { peeked, added }
  }

  const sizesIn = ({ previews }: PeekResponse) =>
    previews.map(({ entry }) => (entry?.entry.case === "message" ? entry.entry.value.plaintext.length : 0))

  test("adds less than 20 MB for 4 MB of messages in three conversations", async () => {
    const program = await start({ isSlow: true })
    const { peeked, added } = await measured(program)
    expect(peeked).toMatchObject({ outcome: PeekOutcome.PREVIEWS, hasMore: true })
    expect(sizesIn(peeked).length).toBeGreaterThanOrEqual(10)
    expect(new Set(sizesIn(peeked))).toEqual(new Set([200_000]))
    expect(added.linear).toBeGreaterThan(megabyte)
    expect(added.linear).toBeLessThan(allowed)
    expect(added.resident).toBeLessThan(allowed)
    await program.driver.stop()
  })

  test.each(hostileAnswers)("adds less than 20 MB for %s", async (_, answer) => {
    const proxy = createServer((incoming, response) => {
      if (incoming.url?.endsWith("/ListMessages")) {
        response.writeHead(200, { "content-type": "application/proto" })
        return answer(response)
      }
      const chunks: Buffer[] = []
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
      incoming.on("end", async () => {
        const { authorization = "" } = incoming.headers
        const headers = { authorization, "content-type": "application/proto", "connect-protocol-version": "1" }
        const init = { method: "POST", headers, body: Buffer.concat(chunks) }
        const honest = await fetch(`${server.messagingUrl}${incoming.url}`, init)
        response.writeHead(honest.status, { "content-type": "application/proto" })
        response.end(Buffer.from(await honest.arrayBuffer()))
      })
    })
    await new Promise<void>((listening) => proxy.listen(0, "127.0.0.1", listening))
    try {
      const program = await start({ isSlow: true })
      const { peeked, added } = await measured(program, `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`)
      expect(peeked).toMatchObject({ outcome: PeekOutcome.NEW_MESSAGES, previews: [] })
      expect(added.linear).toBeLessThan(allowed)
      expect(added.resident).toBeLessThan(allowed)
      await program.driver.stop()
    } finally {
      proxy.closeAllConnections()
      await new Promise((closed) => proxy.close(closed))
    }
  })
})
