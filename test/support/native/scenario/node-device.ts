// A process with one device on Node: the messenger itself ("node"), or the core in WebAssembly ("wasm"). It reads and
// writes lines of JSON.
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { clientOf, openNodeCore } from "@signet/client-native"
import { configure, createFileLock, createFileStorage, createPassphraseBox } from "@signet/client-node"
import { createMessenger, messagingSession, openSqliteStore } from "@signet/client-node/messaging"
import { type DeviceOptions, type ScenarioClient, stepOf } from "./client.ts"
import { scenarioInNode } from "./node-messenger.ts"
import { scenarioOverCore } from "./over-core.ts"

interface NodeDevice extends DeviceOptions {
  readonly kind: "node" | "wasm"
  /** The program that must run this. */
  readonly runtime: "node" | "bun" | "deno"
}

const native = join(import.meta.dirname, "../../../../dist/native")

async function openDevice(device: NodeDevice): Promise<Partial<ScenarioClient>> {
  const { kind, folder, appId, authUrl, messagingUrl, audience, rootKey } = device
  // Bun and Deno have a version of Node, too.
  const { bun, deno } = process.versions
  const runtime = bun !== undefined ? "bun" : deno !== undefined ? "deno" : "node"
  if (runtime !== device.runtime) throw new Error(`this runs in ${runtime}, and not in ${device.runtime}`)
  mkdirSync(folder, { recursive: true })
  const box = createPassphraseBox({
    storage: createFileStorage(join(folder, "box")),
    lock: createFileLock(join(folder, "box-lock")),
    passphrase: async () => "a passphrase",
    parameters: { memoryKiB: 19_456, passes: 2 },
  })
  const identity = { appId, authBaseUrl: authUrl, providers: ["IDP_A" as const], audiences: [audience] }
  const rows = join(folder, "messages.db")
  if (kind === "wasm") {
    const [wasm, bytecode] = ["quickjs.wasm", "core.bc"].map((name) => new Uint8Array(readFileSync(join(native, name))))
    if (wasm === undefined || bytecode === undefined) throw new Error("the core is not built")
    const core = await openNodeCore({ wasm, bytecode, identity, folder, box, store: openSqliteStore(rows) })
    return scenarioOverCore(clientOf(core), device)
  }
  const signet = configure({ ...identity, folder, box })
  const client: Partial<ScenarioClient> = {
    async signIn(nonce, idToken) {
      return (await signet.login({ provider: "IDP_A", nonce, credential: { idToken } })).user.principalId
    },
    async openMessenger() {
      const messenger = await createMessenger({
        messaging: { baseUrl: messagingUrl, issuerRootKeys: [new Uint8Array(Buffer.from(rootKey, "hex"))] },
        session: await messagingSession(signet.session, { appId, audience }),
        ...{ store: openSqliteStore(rows), secretBox: box },
      })
      Object.assign(client, scenarioInNode(messenger))
      return messenger.deviceId
    },
    async signOut() {
      await signet.session.logout()
    },
  }
  return client
}

const client = await openDevice(JSON.parse(process.argv[2] ?? "{}"))
for await (const line of createInterface({ input: process.stdin })) {
  const { step, args } = JSON.parse(line)
  const answer = await stepOf(client, step, args).then(
    (ok) => ({ ok: ok ?? null }),
    (error: unknown) => {
      const { reason, message } = Object(error) as Record<string, string>
      return { failed: { reason, message } }
    },
  )
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}
