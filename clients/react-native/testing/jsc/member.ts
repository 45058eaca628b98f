// A member on React Native's JavaScript interface: runs commands, and records everything that crosses to JavaScript.
// `registry.ts` takes the place of the module "react-native".
import type { ReactNativeMessenger } from "../../messenger.ts"
import type { NativeCore } from "../../native-client.ts"
import "./registry.ts"

import { openSignetWith, type ReactNativeOptions, type SignetClient } from "../../open-signet.ts"
import NativeSignet from "../../spec/NativeSignet.ts"
import { decodeUtf8, encodeUtf8 } from "../../text-encoding.ts"

declare global {
  // Of main.cpp.
  var print: (text: string) => void
  var quit: () => void
  var residentKilobytes: () => number
  var collectGarbage: () => void
  var onLine: (line: string) => void
}

const native = NativeSignet.core() as NativeCore
const crossed: string[] = []
const hex = (buffer: ArrayBuffer) =>
  [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("")

/** Everything that JavaScript gets, as hexadecimal. */
const recorded: NativeCore = {
  open: (account, identity, listener) =>
    native.open(account, identity, (kind, id, bytes) => {
      crossed.push(hex(bytes))
      listener(kind, id, bytes)
    }),
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
  leak: (secret: string) => void crossed.push(secret),
  keys: () => [Object.keys(native), Object.keys(signet ?? {}).sort(), Object.keys(messenger ?? {}).sort()],
  verification: async (user: string) => (await writing().verification.of(user)).safetyNumber,
  close: () => opened().close(),
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
    print(JSON.stringify({ id, ok: (await run(given)) ?? null }))
  } catch (error) {
    print(JSON.stringify({ id, failed: facts(error) }))
  }
}
