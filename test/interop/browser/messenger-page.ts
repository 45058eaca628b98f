// The page of the messenger's browser tests: what a test may ask of a tab.
import type { Signet } from "@signet/client-web"
import { configure, grpcWeb } from "@signet/client-web"
import { createMessenger, type Messenger, messagingSession, openIdbStore } from "@signet/client-web/messaging"
import {
  type BackupSecret,
  exportBackup,
  exportBackupWithPassphrase,
  restoreBackup,
  storeBackup,
  storedBackup,
} from "@signet/client-web/messaging/backup"
import { grantHistoryByQr, requestHistoryByQr, runHistory } from "@signet/client-web/messaging/history"

import { ed25519PublicKey } from "../../../clients/core/messaging/crypto/web-suite.ts"
import { storeNameOf } from "../../../clients/web/messaging/defaults.ts"
import { createSigningKeys } from "../../../clients/web/messaging/signing-keys.ts"

export interface MessengerSettings {
  readonly appId: string
  readonly authUrl: string
  readonly messagingUrl: string
  /** Of the messaging service's tokens. */
  readonly audience: string
  readonly issuerRootKey: Uint8Array
  /** Signs in first. */
  readonly idToken?: string
  /** Another database than the user's own. */
  readonly database?: string
  /** Writes the user's own database as earlier versions did: with the seeds of signing keys in the sealed rows. */
  readonly isFormer?: boolean
  /** How messaging is called. Default: Connect. */
  readonly wire?: "grpc-web"
  /** Follows the service's hints, as an app does. */
  readonly isFollowing?: boolean
  /** Asks the service for nothing. */
  readonly isIdle?: boolean
  /** Where keys and group states are. Default: that of `createMessenger`. */
  readonly core?: "direct" | "wasm"
}

/** What the push story's service worker needs for a peek. */
export interface PushWorkerOptions {
  readonly messaging: { readonly baseUrl: string; readonly issuerRootKeys: Uint8Array[] }
  readonly appId: string
  readonly userId: string
  readonly accessToken: string
}

interface MessengerPage {
  /** The device, or the reason that there is none. */
  open(settings: MessengerSettings): Promise<string>
  /** The reason and message of a messenger that does not open. Nobody signs in. */
  failureOf(settings: MessengerSettings): Promise<string>
  deviceId(): Promise<string>
  userId(): Promise<string>
  sync(): Promise<void>
  /** Follows the service's hints from now on. */
  follow(): Promise<void>
  createGroup(userIds: string[]): Promise<string>
  createDirect(userId: string): Promise<string>
  /** How many conversations are listed. */
  list(): Promise<number>
  /** What was sent to its end. */
  send(conversationId: string, texts: string[]): Promise<number>
  /** Encrypts and stores a message, which the next send or sync sends. */
  queue(conversationId: string, text: string): Promise<void>
  /** The reason for which a message is rejected, or "none". */
  reasonOfSend(conversationId: string, text: string): Promise<string>
  leave(conversationId: string): Promise<void>
  status(conversationId: string): Promise<string | undefined>
  /** The kinds of the stored entries, in order. */
  kinds(conversationId: string): Promise<string[]>
  /** The reported outcomes of own messages, in order. */
  fates(conversationId: string): ("delivered" | "unsent")[]
  /** Milliseconds of each message, one after the other. */
  timeOf(what: "encryptMessage" | "send", conversationId: string, count: number): Promise<number>
  /** What is stored. */
  texts(conversationId: string): Promise<string[]>
  /** What events have told. */
  heard(conversationId: string): string[]
  /** Everything that scripts read of this origin, as text. */
  kept(): Promise<string>
  /** Keeps the user's database open as a tab with an earlier version does. Returns the reasons of its later calls. */
  openAsFormerTab(name: string, isFrozen: boolean): Promise<void>
  formerTabs(): Promise<string[]>
  /** Imports keys as earlier versions stored them. Returns the differences. */
  importFormerKeys(): Promise<string[]>
  /** What a script gets that would take the keys along. */
  stealKeys(): Promise<string[]>
  databases(): Promise<string[]>
  close(): Promise<void>
  /** The reason for which a call after the close is rejected. */
  reasonAfterClose(): Promise<string>
  /** Sends a file of this size. Returns its sequence number, and the last progress. */
  sendFile(conversationId: string, size: number): Promise<{ seq: string; progress: number[] }>
  /** Reads a file of `sendFile`: the whole, a range and the rest. Returns the differences. */
  differencesIn(conversationId: string, seq: string): Promise<string[]>
  /** Aborts a transfer at its first progress. Returns the error's name, and the number of interrupted uploads. */
  abortFile(conversationId: string, size: number): Promise<[string, number]>
  safetyNumber(userId: string): Promise<string>
  /** The status before, the reason of a wrong number, and the status after the comparison. */
  compare(userId: string, number: string): Promise<string[]>
  /** Bytes of the names and values of all rows, and of this origin's storage as the browser says it. */
  stored(): Promise<{ rows: number; usage: number }>
  forgetKeys(): Promise<void>
  /** A backup under a recovery key, or under a passphrase. */
  backUp(passphrase?: string): Promise<{ secret: BackupSecret; file: number[] }>
  /** Registers the service worker, and gives it a token of this session. */
  registerWorker(): Promise<void>
  /** The results of the service worker's peeks. */
  peeked(): (string[] | string)[]
  /** The number of imported entries, or the reason that there is none. */
  restore(file: number[], secret: BackupSecret): Promise<number | string>
  /** A backup at the service. Returns its recovery key. */
  storeBackup(): Promise<string>
  /** The number of entries that were imported from the backup at the service. */
  restoreStored(recoveryKey: string): Promise<number>
  /** The content of the QR code by which another device transfers the history. */
  requestHistory(): Promise<string>
  /** Transfers the history to the device with that QR code. */
  grantHistory(qr: string): Promise<void>
  /** Continues the transfers of this device until none is left. */
  runHistory(): Promise<void>
}

declare global {
  interface Window {
    messenger: MessengerPage
  }
}

let signet: Signet | undefined
let opened: Messenger | undefined
let workerOptions: (() => Promise<PushWorkerOptions>) | undefined
const peeked: (string[] | string)[] = []
const heard: { conversationId: string; text: string }[] = []
const fates: { conversationId: string; fate: "delivered" | "unsent" }[] = []
const messenger = () => opened ?? Promise.reject(new Error("not opened"))
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

window.messenger = {
  async open(settings) {
    const { appId, authUrl, messagingUrl, audience, issuerRootKey, idToken, database } = settings
    try {
      const messaging = { baseUrl: messagingUrl, issuerRootKeys: [issuerRootKey] }
      if (!isSecureContext) {
        const session = {
          ...{ appId, tenantId: undefined, userId: "prn_01kdvdna00edmtevk5ehj6axhg" },
          ...{ accessToken: async () => "", renewToken: async () => "" },
        }
        return (await createMessenger({ messaging, session })).deviceId
      }
      signet ??= configure({ appId, authBaseUrl: authUrl, providers: ["IDP_A"], audiences: [audience] })
      if (idToken !== undefined) await signet.login({ provider: "IDP_A", nonce: "n-1", credential: { idToken } })
      const session = await messagingSession(signet.session, { appId, audience })
      workerOptions = async () => {
        const accessToken = await session.accessToken()
        return { messaging, appId, userId: session.userId, accessToken }
      }
      const name = settings.isFormer ? storeNameOf(session) : database
      const store = name === undefined ? {} : { store: await openIdbStore(name) }
      const transport = settings.wire === undefined ? {} : { transport: grpcWeb({ baseUrl: messagingUrl }) }
      const core = settings.core === undefined ? {} : { core: settings.core }
      opened = await createMessenger({ messaging, session, ...store, ...transport, ...core })
      opened.subscribe((event) => {
        if (event.is === "unsent") fates.push({ conversationId: event.conversationId, fate: "unsent" })
        if (event.is !== "entry") return
        const { conversationId, entry } = event
        if (entry.is === "message" && entry.outboxId !== undefined) fates.push({ conversationId, fate: "delivered" })
        if (entry.is === "message") heard.push({ conversationId, text: text(entry.plaintext) })
        if (entry.is === "unreadable") heard.push({ conversationId, text: entry.reason })
      })
      if (settings.isFollowing) void opened.run(new AbortController().signal)
      else if (!settings.isIdle) await opened.sync()
      return opened.deviceId
    } catch (error) {
      const { reason = String(error) } = Object(error)
      return reason
    }
  },
  async failureOf({ appId, messagingUrl, issuerRootKey }) {
    const messaging = { baseUrl: messagingUrl, issuerRootKeys: [issuerRootKey] }
    const session = {
      ...{ appId, tenantId: undefined, userId: "prn_01kdvdna00edmtevk5ehj6axhg" },
      ...{ accessToken: async () => "", renewToken: async () => "" },
    }
    return createMessenger({ messaging, session }).then(
      () => "opened",
      (error: unknown) => `${Object(error).reason} ${Object(error).message}`,
    )
  },
  userId: async () => (await workerOptions?.())?.userId ?? "",
  deviceId: async () => (await messenger()).deviceId,
  sync: async () => (await messenger()).sync(),
  follow: async () => void (await messenger()).run(new AbortController().signal),
  createGroup: async (userIds) => (await (await messenger()).createGroupConversation(userIds)).id,
  createDirect: async (userId) => (await (await messenger()).createDirectConversation(userId)).id,
  list: async () => (await (await messenger()).conversations()).length,
  async send(conversationId, texts) {
    const one = await messenger()
    const sent = await Promise.all(texts.map((each) => one.send(conversationId, new TextEncoder().encode(each))))
    return new Set(sent.map(({ seq }) => seq)).size
  },
  async queue(conversationId, text) {
    await (await messenger()).encryptMessage(conversationId, new TextEncoder().encode(text))
  },
  reasonOfSend: async (conversationId, text) =>
    reasonOf((await messenger()).send(conversationId, new TextEncoder().encode(text))),
  leave: async (conversationId) => void (await (await messenger()).leave(conversationId)),
  status: async (conversationId) => (await (await messenger()).conversation(conversationId))?.status,
  kinds: async (conversationId) =>
    (await (await messenger()).timeline(conversationId, { limit: 1_000 })).map(({ is }) => is),
  fates: (conversationId) => fates.filter((one) => one.conversationId === conversationId).map(({ fate }) => fate),
  async timeOf(what, conversationId, count) {
    const one = await messenger()
    const plaintext = new TextEncoder().encode("as long as most messages are")
    const startedMs = performance.now()
    for (let i = 0; i < count; i++) await one[what](conversationId, plaintext)
    return (performance.now() - startedMs) / count
  },
  async texts(conversationId) {
    const entries = await (await messenger()).timeline(conversationId, { limit: 1_000 })
    return entries.flatMap((entry) => {
      if (entry.is === "message") return [text(entry.plaintext)]
      return entry.is === "unreadable" ? [entry.reason] : []
    })
  },
  heard: (conversationId) => heard.filter((one) => one.conversationId === conversationId).map((one) => one.text),
  async kept() {
    const rows = await Promise.all((await names()).map(rowsOf))
    const shown = (_: string, value: unknown) => {
      if (value instanceof Uint8Array) return text(value)
      return typeof value === "bigint" ? String(value) : value
    }
    return JSON.stringify([rows, { ...localStorage }, { ...sessionStorage }, document.cookie], shown)
  },
  async openAsFormerTab(name, isFrozen) {
    const request = indexedDB.open(name, 1)
    request.onupgradeneeded = () => {
      for (const table of ["space", "sealed"]) request.result.createObjectStore(table)
    }
    const database = await resultOf(request)
    if (!isFrozen) database.onversionchange = () => database.close()
    formerTabs.push({ name, database })
  },
  async formerTabs() {
    const failures = formerTabs.flatMap(({ name, database }) => [
      (async () => database.transaction(["space", "sealed"], "readwrite").abort())(),
      resultOf(indexedDB.open(name, 1)),
    ])
    return Promise.all(
      failures.map((failure) =>
        failure.then(
          () => "none",
          (error: unknown) => String(Object(error).name),
        ),
      ),
    )
  },
  importFormerKeys,
  async stealKeys() {
    const rows = await rowsOf("signet-keys")
    const keys = rows.flatMap((row): { key: CryptoKey }[] => Object(row).keys)
    const found = (await names()).includes("signet-signing-keys") ? await rowsOf("signet-signing-keys") : []
    const signing = found.map((key) => ({ key: key as CryptoKey, format: "pkcs8" as const }))
    return Promise.all(
      [...keys.map(({ key }) => ({ key, format: "raw" as const })), ...signing].map(({ key, format }) =>
        crypto.subtle.exportKey(format, key).then(
          () => "taken",
          (error: unknown) => String(Object(error).name),
        ),
      ),
    )
  },
  databases: names,
  close: async () => (await messenger()).close(),
  reasonAfterClose: async () => reasonOf((await messenger()).conversations()),
  async sendFile(conversationId, size) {
    const progress: number[] = []
    const options = { fileName: "notes.bin", mediaType: "application/octet-stream" }
    const onProgress = (done: number) => progress.push(done)
    const sent = await (await messenger()).sendAttachment(conversationId, fileOf(size), { ...options, onProgress })
    return { seq: String(sent.seq), progress }
  },
  async differencesIn(conversationId, seq) {
    const opened = await (await messenger()).openAttachment(conversationId, BigInt(seq))
    const expected = new Uint8Array(await fileOf(opened.size).arrayBuffer())
    const same = (name: string, found: Uint8Array, from: number, to = expected.length) => {
      const wanted = expected.subarray(from, to)
      return found.length === wanted.length && found.every((byte, i) => byte === wanted[i]) ? [] : [name]
    }
    const all = async (from: number) => new Uint8Array(await new Response(opened.stream({ from })).arrayBuffer())
    const middle = Math.floor(expected.length / 2)
    return [
      ...(opened.fileName === "notes.bin" ? [] : ["name"]),
      ...same("whole", await all(0), 0),
      ...same("rest", await all(middle + 1), middle + 1),
      ...same("range", await opened.read(middle - 5, middle + 5), middle - 5, middle + 5),
      ...same("memory", await opened.read(0, opened.size), 0),
    ]
  },
  async abortFile(conversationId, size) {
    const one = await messenger()
    const stopping = new AbortController()
    const options = { signal: stopping.signal, onProgress: () => stopping.abort() }
    const sending = one.sendAttachment(conversationId, fileOf(size), options)
    const name = await sending.then(
      () => "sent",
      (error: unknown) => String(Object(error).name),
    )
    return [name, (await one.uploads(conversationId)).length]
  },
  safetyNumber: async (userId) => (await (await messenger()).verification.of(userId)).safetyNumber,
  async compare(userId, number) {
    const { verification } = await messenger()
    const before = await verification.status(userId)
    const reason = await reasonOf(verification.markVerified(userId, "0".repeat(60)))
    await verification.markVerified(userId, number)
    return [before, reason, await verification.status(userId)]
  },
  async stored() {
    const rows = await Promise.all((await names()).map(entriesOf))
    const lengths = rows.flat().map(([key, value]) => lengthOf(key) + lengthOf(value))
    const { usage = 0 } = await navigator.storage.estimate()
    return { rows: lengths.reduce((sum, each) => sum + each, 0), usage }
  },
  forgetKeys: async () => {
    await resultOf(indexedDB.deleteDatabase("signet-keys"))
  },
  async backUp(passphrase) {
    const one = await messenger()
    const made = passphrase === undefined ? await exportBackup(one) : undefined
    const bytes = made?.bytes ?? exportBackupWithPassphrase(one, passphrase ?? "", { memoryKiB: 19_456, passes: 2 })
    const secret = made === undefined ? { passphrase: passphrase ?? "" } : { recoveryKey: made.recoveryKey }
    const file: number[] = []
    for await (const piece of bytes) file.push(...piece)
    return { secret, file }
  },
  async registerWorker() {
    navigator.serviceWorker.addEventListener("message", ({ data }) => peeked.push(data))
    await navigator.serviceWorker.register("/worker.js")
    const { active } = await navigator.serviceWorker.ready
    active?.postMessage(await workerOptions?.())
  },
  peeked: () => peeked,
  async restore(file, secret) {
    try {
      const source = new Blob([Uint8Array.from(file)]).stream()
      return (await restoreBackup(await messenger(), source, secret)).importedEntries
    } catch (error) {
      return Object(error).reason ?? String(error)
    }
  },
  storeBackup: async () => (await storeBackup(await messenger())).recoveryKey,
  async restoreStored(recoveryKey) {
    const one = await messenger()
    return (await restoreBackup(one, storedBackup(one), { recoveryKey })).importedEntries
  },
  requestHistory: async () => (await requestHistoryByQr(await messenger())).qr,
  grantHistory: async (qr) => grantHistoryByQr(await messenger(), qr),
  runHistory: async () => runHistory(await messenger()),
}

const formerTabs: { readonly name: string; readonly database: IDBDatabase }[] = []

async function importFormerKeys(): Promise<string[]> {
  const scope = { app: "app_1", user: "prn_1", device: "former" }
  const keys = createSigningKeys("former-signing-keys")
  const seed = crypto.getRandomValues(new Uint8Array(32))
  const differences: string[] = []
  const check = async (what: string, given: Uint8Array, publicKey: Uint8Array) => {
    const reference = await keys.importSeed(scope, given, publicKey)
    const again = await keys.importSeed(scope, given, publicKey)
    const known = await keys.importSeed(scope, reference, publicKey)
    if (String(reference) !== String(again) || String(reference) !== String(known)) differences.push(`${what} twice`)
    const message = new TextEncoder().encode("signed")
    const key = await crypto.subtle.importKey("raw", new Uint8Array(publicKey), "Ed25519", false, ["verify"])
    const signature = new Uint8Array(await keys.sign(scope, reference, message))
    if (!(await crypto.subtle.verify("Ed25519", key, signature, message))) differences.push(what)
  }
  await check("a seed", seed, ed25519PublicKey(seed))
  // An earlier version derived the key of a reference from a root.
  const lost = crypto.getRandomValues(new Uint8Array(32))
  if ((await reasonOf(keys.importSeed(scope, lost, ed25519PublicKey(seed)))) !== "KEY_MISSING")
    differences.push("no root")
  const root = await crypto.subtle.importKey("raw", new Uint8Array(32), "HKDF", false, ["deriveBits"])
  const database = await resultOf(indexedDB.open("former-signing-keys"))
  const at = database.transaction("kept", "readwrite").objectStore("kept")
  await resultOf(at.put(root, JSON.stringify([null, scope.app, scope.user, scope.device])))
  const info = new TextEncoder().encode("signet signing key v1")
  const parameters = { name: "HKDF", hash: "SHA-256", salt: lost, info }
  const derived = new Uint8Array(await crypto.subtle.deriveBits(parameters, root, 256))
  await check("a derived key", lost, ed25519PublicKey(derived))
  await keys.destroy(scope)
  const left = database.transaction("kept").objectStore("kept").count()
  if ((await resultOf(left)) !== 0) differences.push("destroyed keys")
  database.close()
  return differences
}

/** A file whose bytes differ from their neighbours. */
function fileOf(size: number): Blob {
  return new Blob([Uint8Array.from({ length: size }, (_, i) => (i * 31 + (i >> 8)) & 255)])
}

const reasonOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "none",
    (error: unknown) => String(Object(error).reason ?? error),
  )

async function names(): Promise<string[]> {
  return (await indexedDB.databases()).map(({ name }) => name ?? "").sort()
}

const rowsOf = async (name: string): Promise<unknown[]> => (await entriesOf(name)).map(([, value]) => value)

async function entriesOf(name: string): Promise<[IDBValidKey, unknown][]> {
  const database = await resultOf(indexedDB.open(name))
  const entries: [IDBValidKey, unknown][] = []
  for (const store of database.objectStoreNames) {
    const rows = database.transaction(store).objectStore(store)
    const [keys, values] = await Promise.all([resultOf(rows.getAllKeys()), resultOf(rows.getAll())])
    entries.push(...keys.map((key, i): [IDBValidKey, unknown] => [key, values[i]]))
  }
  database.close()
  return entries
}

function lengthOf(value: unknown): number {
  if (value instanceof Uint8Array || typeof value === "string") return value.length
  return Array.isArray(value) ? value.reduce<number>((sum, each) => sum + lengthOf(each), 0) : 8
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
