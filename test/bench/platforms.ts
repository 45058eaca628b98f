// The client core in an embedded engine, beside the same client directly on V8, in one run: load, memory, encryption,
// decryption, and a whole send. The server has a process of its own; both clients share this one, over the same stores.
// Sizes: npm run bench -- platforms --set members=2,200 --set messages=100
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { type Core, type CoreClient, clientOf, openNodeCore } from "@signet/client-native"
import { createFileLock, createFileStorage, createPassphraseBox } from "@signet/client-node"
import { type Messenger, openSqliteStore } from "@signet/client-node/messaging"
import { buildCore } from "../../clients/native/build.ts"
import { freePort } from "../support/free-port.ts"
import { developmentWorld } from "../support/messaging/world.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { startProgram } from "../support/program.ts"
import { issuerRoot, newPerson } from "./client/people.ts"
import { inBatches, newcomer } from "./messaging/cast.ts"

export interface Row {
  readonly name: string
  /** Processor time of this process, for one. */
  readonly coreCpuMs?: number
  readonly directCpuMs?: number
  /** Wall time for one. */
  readonly coreMs?: number
  readonly directMs?: number
  readonly bytes?: number
}

export const sizes = {
  usual: { members: [2, 200], messages: 100 },
  smallest: { members: [2], messages: 4 },
}

export async function run({ members, messages }: typeof sizes.usual): Promise<Row[]> {
  const postgres = await startPostgres()
  if (postgres === undefined) throw new Error("there is no PostgreSQL to measure on")
  const folder = mkdtempSync(join(tmpdir(), "signet-bench-"))
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true }), () => postgres.stop()]
  try {
    const program = await startProgram({
      SIGNET_PROFILE: "development",
      SIGNET_LIMITS: "off",
      SIGNET_CONVERSATION_LEAVES: "1000",
      DATABASE_URL: postgres.url,
      SIGNET_DATA: folder,
      PORT: String(await freePort()),
    })
    closing.push(() => program.end("SIGTERM"))
    const world = developmentWorld(program.url)
    const transport = createGrpcTransport({ baseUrl: program.url })
    const { rows, core, client } = await loading(program.url, folder)
    closing.push(() => core.close())
    const person = await newPerson(world, { rootKey: issuerRoot(folder), folder })
    const direct = await person.open()
    closing.push(() => direct.close())
    await direct.sync()
    for (const size of members) {
      const others = await inBatches(size - 2, () => newcomer(world, transport, 1))
      const userIds = [person.session.userId, ...others.map(({ userId }) => userId)]
      rows.push(...(await measure({ core: client, direct, userIds, size, messages })))
    }
    return [...rows, { name: "memory of the engine, at the end", bytes: core.memoryBytes }]
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

/** Opens the core and its messenger, as a program does. */
async function loading(baseUrl: string, folder: string): Promise<{ rows: Row[]; core: Core; client: CoreClient }> {
  const { wasm, bytecode } = await buildCore()
  const rows: Row[] = []
  const timed = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const cost = await costOf(1, work)
    rows.push({ name, coreMs: cost.ms, coreCpuMs: cost.cpuMs })
    return cost.result
  }
  const answer = await fetch(`${baseUrl}/dev/idp-a/login-request`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email: "core@example.test", name: "Core" }),
  })
  const { appId, nonce, idToken } = loginRequestOf(await answer.json())
  await timed("compile the engine", () => WebAssembly.compile(wasm))
  const box = createPassphraseBox({
    storage: createFileStorage(join(folder, "core-box")),
    lock: createFileLock(join(folder, "core-lock")),
    passphrase: async () => "of a bench",
    parameters: { memoryKiB: 19_456, passes: 2 },
  })
  const options = {
    ...{ wasm, bytecode, box, folder: join(folder, "core"), store: openSqliteStore(join(folder, "core.db")) },
    identity: { appId, authBaseUrl: baseUrl, providers: ["IDP_A"] },
  }
  // The first one compiles the engine.
  await (await openNodeCore(options)).close()
  const core = await timed("load the core", () => openNodeCore(options))
  rows.push({ name: "memory of the engine, loaded", bytes: core.memoryBytes })
  const client = clientOf(core)
  await client.identity.login({ provider: "IDP_A", nonce, credential: { idToken } })
  const open = { baseUrl, issuerRootKeys: [new Uint8Array(issuerRoot(folder))] }
  await timed("open the messenger of a new device", () => client.messenger.open(open))
  await client.messenger.close()
  await timed("open the messenger again", () => client.messenger.open(open))
  await client.messenger.sync()
  return { rows, core, client }
}

interface Measured {
  readonly core: CoreClient
  readonly direct: Messenger
  readonly userIds: readonly string[]
  readonly size: number
  readonly messages: number
}

const plaintext = new TextEncoder().encode("as long as most messages are")

async function measure({ core: { messenger }, direct, userIds, size, messages }: Measured): Promise<Row[]> {
  const named = (what: string) => `${what}, ${size} members`
  const create = await costOf(1, () => messenger.createGroupConversation({ memberUserIds: [...userIds] }))
  const conversationId = create.result.conversation?.id ?? ""
  const join = await costOf(1, () => direct.sync())
  const beside = (name: string, core: Cost, other: Cost): Row => ({
    name: named(name),
    ...{ coreCpuMs: core.cpuMs, directCpuMs: other.cpuMs, coreMs: core.ms, directMs: other.ms },
  })
  const times = async (work: () => Promise<unknown>) => {
    for (let i = 0; i < messages; i++) await work()
  }
  const ofCore = () => messenger.encryptMessage({ conversationId, plaintext })
  const ofDirect = () => direct.encryptMessage(conversationId, plaintext)
  // Warm: the engine has no compiler, V8 has.
  await times(ofCore)
  await times(ofDirect)
  await messenger.sync()
  await direct.sync()
  const encrypted = [
    await costOf(messages, () => times(ofCore)),
    await costOf(messages, () => times(ofDirect)),
  ] as const
  // Each one's own outbox goes out first, so that only the other's messages are left to decrypt.
  await messenger.sync()
  await direct.sync()
  await times(() => messenger.send({ conversationId, plaintext }))
  const byDirect = await costOf(messages, () => direct.sync())
  await times(() => direct.send(conversationId, plaintext))
  const byCore = await costOf(messages, () => messenger.sync())
  const sent = [
    await costOf(messages, () => times(() => messenger.send({ conversationId, plaintext }))),
    await costOf(messages, () => times(() => direct.send(conversationId, plaintext))),
  ] as const
  return [
    { name: named("create a group"), coreCpuMs: create.cpuMs, coreMs: create.ms },
    { name: named("join"), directCpuMs: join.cpuMs, directMs: join.ms },
    beside("encrypt and store", ...encrypted),
    beside("fetch, decrypt and store", byCore, byDirect),
    beside("send", ...sent),
  ]
}

interface Cost {
  readonly ms: number
  readonly cpuMs: number
}

/** The cost of each of `count`. */
async function costOf<T>(count: number, work: () => Promise<T>): Promise<Cost & { readonly result: T }> {
  const [startMs, start] = [performance.now(), process.cpuUsage()]
  const result = await work()
  const { user, system } = process.cpuUsage(start)
  return { result, ms: (performance.now() - startMs) / count, cpuMs: (user + system) / 1_000 / count }
}

function loginRequestOf(value: unknown): { appId: string; nonce: string; idToken: string } {
  const { appId, nonce, idToken, credential } = Object(value)
  return { appId: String(appId), nonce: String(nonce), idToken: String(idToken ?? Object(credential).idToken) }
}
