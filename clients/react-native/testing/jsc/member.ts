// A member on React Native's JavaScript interface: runs commands, and records everything that crosses to JavaScript.
// `registry.ts` takes the place of the module "react-native".

import "../../text-encoding.ts"
import "./registry.ts"

import { create, toBinary } from "@bufbuild/protobuf"
import { IdentityOptionsSchema } from "@signet/proto/client/v1/identity_service"
import type { ReactNativeMessenger } from "../../messenger.ts"
import { type NativeCore, openNativeClient } from "../../native-client.ts"

import { openSignetWith, type ReactNativeOptions, type SignetClient } from "../../open-signet.ts"
import NativeSignet from "../../spec/NativeSignet.ts"
import { decodeUtf8, encodeUtf8 } from "../../text-encoding.ts"
import type { Crossing } from "./replay.ts"
import { scenarioSteps } from "./scenario.ts"

declare global {
  // Of main.cpp.
  var printLine: (text: string) => void
  var quit: () => void
  var residentKilobytes: () => number
  var allocatedBytes: () => number
  var collectGarbage: () => void
  var onLine: (line: string) => Promise<void>
}

const native = NativeSignet?.core() as NativeCore
const crossed: string[] = []
const hex = (buffer: ArrayBuffer) =>
  [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("")

/** Records everything that JavaScript passes and gets. `crossed` has the bytes that it gets, as hexadecimal. */
const transcript: Crossing[] = []
const recorded: NativeCore = {
  open(account, identity, listener) {
    transcript.push({ to: ["open", account, hex(identity)] })
    const handle = native.open(account, identity, (kind, id, bytes) => {
      crossed.push(hex(bytes))
      transcript.push({ from: [kind, id, hex(bytes)] })
      listener(kind, id, bytes)
    })
    return {
      call(id, method, request) {
        transcript.push({ to: ["call", id, method, hex(request)] })
        return handle.call(id, method, request)
      },
      close() {
        transcript.push({ to: ["close"] })
        handle.close()
      },
    }
  },
}

let signet: SignetClient | undefined
let messenger: ReactNativeMessenger | undefined
const events: string[] = []
const opened = () => {
  if (signet === undefined) throw new Error("not open")
  return signet
}
const writing = () => {
  if (messenger === undefined) throw new Error("no messenger")
  return messenger
}

interface MessengerArguments {
  readonly baseUrl: string
  readonly audience: string
  readonly rootKey: readonly number[]
}

interface PeekArguments {
  readonly account?: string
  readonly options?: ReactNativeOptions
}

const steps = scenarioSteps(opened, writing)

async function texts(id: string): Promise<string[]> {
  const entries = await writing().timeline(id)
  return entries.flatMap((entry) => (entry.is === "message" ? [decodeUtf8(entry.plaintext)] : []))
}

// biome-ignore lint/suspicious/noExplicitAny: each command has arguments of its own, as JSON
const commands: Record<string, (given: any) => unknown> = {
  async open(options: ReactNativeOptions) {
    signet = await openSignetWith(recorded, options)
    return signet.current
  },
  async signIn({ idToken, nonce }: { idToken: string; nonce: string }) {
    const { user } = await opened().login({ provider: "IDP_A", nonce, credential: { idToken } })
    return user.principalId
  },
  async messenger({ baseUrl, audience, rootKey }: MessengerArguments) {
    const messaging = { baseUrl, issuerRootKeys: [Uint8Array.from(rootKey)] }
    messenger = await opened().openMessenger({ messaging, audience })
    messenger.subscribe((event) => events.push(event.is))
    return messenger.deviceId
  },
  direct: async (peer: string) => (await writing().createDirectConversation(peer)).id,
  group: async (users: string[]) => (await writing().createGroupConversation(users)).id,
  send: async ({ id, text }: { id: string; text: string }) => (await writing().send(id, encodeUtf8(text))).state,
  sync: () => writing().sync(),
  texts,
  events: () => events.splice(0),
  crossed: () => crossed,
  transcript: () => transcript,
  leak: (secret: string) => void crossed.push(secret),
  keys: () => [Object.keys(native), Object.keys(signet ?? {}).sort(), Object.keys(messenger ?? {}).sort()],
  step({ step, args }: { step: string; args: string[] }) {
    const run = steps[step]
    if (run === undefined) throw new Error(`the platform lacks the step "${step}"`)
    return run(...args)
  },
  verification: async (user: string) => (await writing().verification.of(user)).safetyNumber,
  close: () => opened().close(),
  fetch: async ({ url, audience, headers }: { url: string; audience?: string; headers?: Record<string, string> }) => {
    const answer = await opened().fetch(url, {
      ...(audience !== undefined && { audience }),
      ...(headers !== undefined && { headers }),
    })
    return { status: answer.status, text: answer.text() }
  },
  sendFile: async ({ id, path }: { id: string; path: string }) => {
    const progress: number[] = []
    const onProgress = (done: number) => progress.push(done)
    const { seq } = await writing().sendAttachment(id, path, { fileName: "a.txt", mediaType: "text/plain", onProgress })
    return { seq: seq.toString(), progress }
  },
  saveFile: ({ id, seq, path }: { id: string; seq: string; path: string }) =>
    writing().saveAttachment(id, BigInt(seq), path),
  recoveryKey: () => writing().backup.createRecoveryKey(),
  exportBackup: ({ path, recoveryKey }: { path: string; recoveryKey: string }) =>
    writing().backup.exportTo(path, { recoveryKey }),
  restoreBackup: ({ path, recoveryKey }: { path: string; recoveryKey: string }) =>
    writing().backup.restore(path, { recoveryKey }),
  readBackup: ({ path, recoveryKey }: { path: string; recoveryKey: string }) =>
    writing().backup.read(path, { recoveryKey }),
  saveStored: (path: string) => writing().backup.saveStored(path),
  requestHistory: () => writing().history.requestByQr(),
  grantHistory: (scanned: string) => writing().history.grantByQr(scanned),
  runHistory: () => writing().history.run(),
  pushKinds: async () => (await writing().push.settings())?.kinds,
  setPush: async (url: string) => (await writing().push.set({ is: "webPush", url })).length,
  deletePush: () => writing().push.delete(),
  async peek({ account = "default", options, ...given }: MessengerArguments & PeekArguments) {
    // A second client of the same account, such as that of a background task.
    const client = options === undefined ? opened() : await openSignetWith(recorded, { ...options, account })
    const messaging = { baseUrl: given.baseUrl, issuerRootKeys: [Uint8Array.from(given.rootKey)] }
    const peeked = await client.peek({ messaging, audience: given.audience })
    if (options !== undefined) await client.close()
    if (peeked.is === "newMessages") return peeked.is
    return peeked.previews.flatMap(({ entry }) => (entry.is === "message" ? [decodeUtf8(entry.plaintext)] : []))
  },
  /** Errors of arguments that the native objects refuse. */
  refused(options: ReactNativeOptions) {
    const none = new ArrayBuffer(0)
    const handle = native.open("arguments", identityOf(options), () => {})
    const calls: (() => unknown)[] = [
      () => native.open("../other", none, () => {}),
      () => native.open("a", new Uint8Array(1) as never, () => {}),
      () => native.open("a", identityOf({ ...options, authBaseUrl: `${options.authBaseUrl}.evil.example` }), () => {}),
      () => native.open("a", identityOf({ ...options, serviceOrigins: ["https://evil.example"] }), () => {}),
      () => native.open("a", identityOf(options), {} as never),
      () => handle.call(0, "IdentityService/Ready", none),
      () => handle.call(1.5, "IdentityService/Ready", none),
      () => handle.call(2 ** 53, "IdentityService/Ready", none),
      () => handle.call(1, "MessengerService/Export", none),
      () => handle.call(1, "IdentityService/Ready", "x" as never),
      () => handle.call(1, "MessengerService/Open", Uint8Array.from([10, 1, 120]).buffer),
      () => handle.call(1, "MessengerService/Open", Uint8Array.from([10, 200]).buffer),
      () => handle.call(1, "PeekService/Peek", Uint8Array.from([10, 1, 120]).buffer),
      () => Object.assign(handle, { call: 1 }),
    ]
    const all = calls.map((call) => {
      try {
        return String(call())
      } catch (error) {
        return facts(error).message
      }
    })
    handle.close()
    return all
  },
  /**
   * Makes calls, at most 32 at once.
   *
   * @returns Nanoseconds of a call; bytes of native memory in use and kilobytes of the process, before and after; and the share of a
   * thousand promises and responses, evenly drawn from all calls, that exists after collections.
   */
  async calls({ options, count }: { options: ReactNativeOptions; count: number }) {
    const client = await openNativeClient(native, { account: "calls", identity: optionsOf(options) })
    const seen: WeakRef<object>[] = []
    const run = async (each: number) => {
      const everySo = Math.ceil((each * 32) / 500)
      let made = 0
      const worker = async () => {
        for (let i = 0; i < each; i++) {
          const call = client.call("IdentityService/Ready", new Uint8Array())
          made += 1
          const response = await call
          if (made % everySo === 0) seen.push(new WeakRef(call), new WeakRef(response))
        }
      }
      await Promise.all(Array.from({ length: 32 }, worker))
    }
    await run(Math.ceil(count / 320))
    seen.length = 0
    const before = await memory()
    const start = Date.now()
    await run(Math.ceil(count / 32))
    const nanoseconds = ((Date.now() - start) * 1e6) / count
    let after = await memory()
    const existing = () => seen.filter((one) => one.deref() !== undefined).length
    for (let time = 0; time < 10 && existing() * 4 > seen.length; time++) after = await memory()
    const share = existing() / seen.length
    await client.close()
    return { nanoseconds, before, after, share }
  },
  /** Closes a client with running calls. @returns Their errors. */
  async closeDuringCalls(options: ReactNativeOptions) {
    const client = await openNativeClient(native, { account: "closing", identity: optionsOf(options) })
    const calls = Array.from({ length: 200 }, () => client.call("IdentityService/Wake", new Uint8Array()))
    const settled = Promise.allSettled(calls)
    await client.close()
    await client.close()
    const late = client.call("IdentityService/Ready", new Uint8Array())
    const all = [...(await settled), ...(await Promise.allSettled([late]))]
    return all.map((one) => (one.status === "fulfilled" ? "ok" : one.reason.reason))
  },
  /** Opens two clients at once, which call at once. */
  async twoClients(options: ReactNativeOptions) {
    const open = (account: string) => openNativeClient(native, { account, identity: optionsOf(options) })
    const clients = await Promise.all([open("first"), open("second")])
    const calls = clients.flatMap((client) =>
      Array.from({ length: 100 }, () => client.call("IdentityService/Ready", new Uint8Array())),
    )
    const count = (await Promise.all(calls)).length
    await Promise.all(clients.map((client) => client.close()))
    return count
  },
  /** Drops a client without close(). */
  async forget(options: ReactNativeOptions) {
    await openNativeClient(native, { account: "forgotten", identity: optionsOf(options) })
  },
  /** Ends the runtime while a client is open and works. */
  async quit(options: ReactNativeOptions) {
    const client = await openNativeClient(native, { account: "quitting", identity: optionsOf(options) })
    for (let i = 0; i < 100; i++) void client.call("IdentityService/Ready", new Uint8Array())
    printLine(JSON.stringify({ id: 0, ok: "quits" }))
    quit()
  },
}

const optionsOf = ({ appId, authBaseUrl, providers, serviceOrigins = [] }: ReactNativeOptions) => ({
  ...{ appId, authBaseUrl, providers: [...providers], serviceOrigins: [...serviceOrigins] },
})
const identityOf = (options: ReactNativeOptions): ArrayBuffer =>
  toBinary(IdentityOptionsSchema, create(IdentityOptionsSchema, optionsOf(options))).slice().buffer

/** JavaScriptCore collects and returns memory on threads of its own, after it was asked. @returns The least of two seconds. */
async function memory() {
  let allocated = Number.POSITIVE_INFINITY
  let resident = Number.POSITIVE_INFINITY
  for (let time = 0; time < 10; time++) {
    collectGarbage()
    await new Promise((resolve) => setTimeout(resolve, 200))
    allocated = Math.min(allocated, allocatedBytes())
    resident = Math.min(resident, residentKilobytes())
  }
  return { allocated, resident }
}

function facts(error: unknown) {
  const { name, reason, message } = Object(error) as Partial<Record<string, string>>
  return { name, reason, message }
}

globalThis.onLine = async (line) => {
  const { id, command, given } = JSON.parse(line)
  try {
    const run = commands[command]
    if (run === undefined) throw new Error(`no command ${command}`)
    printLine(JSON.stringify({ id, ok: (await run(given)) ?? null }))
  } catch (error) {
    printLine(JSON.stringify({ id, failed: facts(error) }))
  }
}
