// The three clients of the story: the messenger itself, the core in WebAssembly, and libsignet.
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { type CoreClient, clientOf, nodePlatform } from "@signet/client-native"
import { openCore } from "@signet/client-native/wasm"
import { createFileLock, createFileStorage } from "@signet/client-node"
import { EffectResultSchema, EffectSchema, Primitive } from "@signet/proto/host/v1/host"
import { createMessengerWith } from "../../../../clients/core/messaging/create-messenger.ts"
import { buildCore } from "../../../../clients/native/build.ts"
import { createBoxes } from "../../../../clients/native/node/boxes.ts"
import { nodeEffects } from "../../../../clients/native/node/effects.ts"
import { createSigningRoots } from "../../../../clients/native/node/signing-roots.ts"
import { connectTo } from "../../../../clients/node/messaging/wire.ts"
import { suite, verify } from "../../messaging/device-parts.ts"
import { systemClock } from "../../messaging/messengers.ts"
import type { SignedIn } from "../../messaging/world.ts"
import { startDriver } from "../driver.ts"
import { buildNative } from "../library.ts"
import type { DeviceOptions, PeerClient, ScenarioClient } from "../scenario/client.ts"
import { scenarioInNode } from "../scenario/node-messenger.ts"
import { scenarioOverCore } from "../scenario/over-core.ts"
import { drawsOf, plainBox, plainDescription, recordedStore, signing } from "./world.ts"

export interface SameOptions extends DeviceOptions {
  readonly seed: number
  /** The clock stands still. */
  readonly nowMs: number
  readonly person: SignedIn
  /** A new sign-in of that user. */
  login(): Promise<{ readonly nonce: string; readonly idToken: string }>
}

export interface SameClient {
  /** The steps, after the messenger was opened. */
  readonly client: Pick<PeerClient, "createDirect" | "send" | "sync" | "renewKeys" | "read">
  /** The successful transactions of its store. */
  readonly transactions: readonly string[]
  close(): Promise<void>
}

/** The name in the list of devices, which each platform would otherwise choose itself. */
const platform = "same-bytes"

export async function openDirect(options: SameOptions): Promise<SameClient> {
  const { messagingUrl: baseUrl, rootKey, person, nowMs, appId } = options
  const draws = drawsOf(options.seed)
  const store = recordedStore()
  /** The engine overwrites secrets by random bytes of the platform first. */
  async function drawing<T>(work: () => Promise<T>): Promise<T> {
    const { getRandomValues } = globalThis.crypto
    const drawn = <A extends ArrayBufferView | null>(array: A): A => {
      if (array !== null) {
        const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
        bytes.set(draws.bytes(bytes.length))
      }
      return array
    }
    Object.defineProperty(globalThis.crypto, "getRandomValues", { value: drawn, configurable: true })
    try {
      return await work()
    } finally {
      Object.defineProperty(globalThis.crypto, "getRandomValues", { value: getRandomValues, configurable: true })
    }
  }
  const session = {
    ...{ appId, tenantId: undefined, userId: person.userId },
    accessToken: async () => person.accessToken,
    renewToken: () => person.refresh(),
  }
  const given = {
    messaging: { baseUrl, issuerRootKeys: [new Uint8Array(Buffer.from(rootKey, "hex"))] },
    ...{ session, transport: connectTo(baseUrl), store, secretBox: plainBox(), platform },
    clock: { ...systemClock, nowMs: () => nowMs },
    random: { bytes: draws.bytes },
  }
  const seededSuite = {
    ...suite,
    dhKeyPair: (key?: Uint8Array) => suite.dhKeyPair(key ?? draws.bytes(32)),
    signatureKeyPair() {
      const seed = draws.bytes(32)
      return { seed, publicKey: signing.publicKey(seed) }
    },
    random: draws.bytes,
  }
  const messenger = await drawing(() => createMessengerWith(given, { suite: seededSuite, verify, keyPackageTarget: 8 }))
  draws.restart(options.seed + 1)
  const steps = scenarioInNode(messenger)
  const client = {
    createDirect: (userId: string) => drawing(() => steps.createDirect(userId)),
    send: (id: string, text: string) => drawing(() => steps.send(id, text)),
    sync: () => drawing(() => steps.sync()),
    renewKeys: (id: string) => drawing(() => steps.renewKeys(id)),
    read: (id: string) => drawing(() => steps.read(id)),
  }
  return { client, transactions: store.transactions, close: () => messenger.close() }
}

async function signedIn(core: CoreClient, options: SameOptions): Promise<ScenarioClient> {
  const steps = scenarioOverCore(core, options)
  const { nonce, idToken } = await options.login()
  await steps.signIn(nonce, idToken)
  return steps
}

const identityOf = ({ appId, authUrl, audience }: SameOptions) => ({
  ...{ appId, authBaseUrl: authUrl, providers: ["IDP_A"], audiences: [audience] },
})

export async function openInWasm(options: SameOptions): Promise<SameClient> {
  const { folder, nowMs, seed } = options
  mkdirSync(folder, { recursive: true })
  const built = await buildCore()
  const draws = drawsOf(seed)
  const store = recordedStore()
  const host = nodePlatform({ identity: identityOf(options), folder, box: plainBox(), store })
  host.info.platform = platform
  const primitives = {
    ...host.platform.primitives,
    [Primitive.RANDOM]: (length: unknown) => draws.bytes(Number(length)),
    [Primitive.NOW]: () => nowMs,
    [Primitive.ED25519_GENERATE]() {
      const seed = draws.bytes(32)
      return Buffer.concat([seed, signing.publicKey(seed)])
    },
    [Primitive.ED25519_SIGN]: (_box: unknown, seed: unknown, message: unknown) =>
      signing.sign(seed as Uint8Array, message as Uint8Array),
  }
  const core = await openCore({
    module: new WebAssembly.Module(built.wasm),
    bytecode: built.bytecode,
    ...{ info: host.info, identity: host.identity, platform: { ...host.platform, primitives } },
  })
  const client = await signedIn(clientOf(core), options)
  draws.restart(seed)
  await client.openMessenger()
  // The sign-in has drawn bytes, too, because a registered device needs another token.
  draws.restart(seed + 1)
  const close = async () => {
    await core.close()
    host.close()
  }
  return { client, transactions: store.transactions, close }
}

/** The effects of the store, of named bytes, of the box and of the lock: the fields of Effect. */
const performed = EffectSchema.fields
  .filter(({ name }) => /^(store_(read|list|spaces|transact)|storage_.*|lock_.*|box_.*)$/.test(name))
  .map(({ number }) => number)

export async function openInLibrary(options: SameOptions): Promise<SameClient> {
  const { folder, nowMs, seed } = options
  mkdirSync(folder, { recursive: true })
  const { folder: programs } = await buildNative()
  const store = recordedStore()
  const storage = createFileStorage(join(folder, "kept"))
  const boxes = createBoxes(plainBox(), createSigningRoots(storage))
  const effects = nodeEffects({ store, storage, boxes, lock: createFileLock(join(folder, "lock")) })
  const driver = startDriver(programs, "driver")
  driver.onEffect = async ({ kind, id, bytes }) => {
    if (kind !== 4) return
    const nothing = () => undefined
    const performing = { signal: new AbortController().signal, push: nothing, pushChange: nothing }
    const result = await effects.perform(fromBinary(EffectSchema, bytes).effect, performing)
    const answer = Buffer.from(toBinary(EffectResultSchema, create(EffectResultSchema, { result })))
    await driver.command(`complete ${id} ${answer.length === 0 ? "-" : answer.toString("hex")}`)
  }
  await driver.command(`seed ${seed} ${nowMs}`)
  await driver.open(
    {
      ...{ identity: identityOf(options), performs: performed, platform },
      box: { case: "programBox", value: plainDescription },
    },
    "seeded",
  )
  const client = await signedIn(clientOf(driver), options)
  await driver.command(`seed ${seed} ${nowMs}`)
  await client.openMessenger()
  await driver.command(`seed ${seed + 1} ${nowMs}`)
  const close = async () => {
    await driver.close()
    driver.kill()
    effects.close()
  }
  return { client, transactions: store.transactions, close }
}
