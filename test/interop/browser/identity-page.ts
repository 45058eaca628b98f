// The page of the identity client's browser tests: what a test may ask of a tab.
import { createClient } from "@connectrpc/connect"
import { isFailure, rest, type Signet } from "@signet/client"
import { configure, connect, createIdbStorage, createWebSecretBox, grpcWeb } from "@signet/client-web"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { type ClientSettings, setClock } from "./client-settings.ts"

export interface IdentityPage {
  open(settings: ClientSettings): Promise<string>
  signIn(idToken: string): Promise<void>
  /** What the stream has said so far. */
  seen(): string[]
  /** The principal, by a call over each protocol of a browser. */
  whoAmI(): Promise<string[]>
  /** The end of the token, or the reason that there is none. */
  token(): Promise<string>
  logout(): Promise<boolean>
  jump(ms: number): void
  askWorker(settings: ClientSettings): Promise<string>
  /** Whether the page came back from the back-forward cache. */
  cameBack(): boolean
  /** All that a script of this origin can read of what is kept. */
  kept(): Promise<string>
  /** What a script gets that would take the keys along. */
  stealKeys(): Promise<string[]>
  /** Two that write on the word of one revision, at once. */
  raceOnStorage(): Promise<boolean[]>
  /** What a box says in this page. */
  tryBox(): Promise<string>
}

declare global {
  interface Window {
    identity: IdentityPage
  }
}

let signet: Signet | undefined
let hasComeBack = false
const seen: string[] = []
addEventListener("pageshow", (event) => {
  hasComeBack ||= event.persisted
})

const opened = (): Signet => {
  if (signet === undefined) throw new Error("not opened")
  return signet
}

window.identity = {
  async open({ jumpMs, hasBox, ...settings }) {
    setClock(jumpMs)
    const place = hasBox && ({ refreshToken: { in: "box", box: createWebSecretBox() } } as const)
    signet = configure({ ...settings, providers: ["IDP_A"], ...place })
    signet.session.subscribe((state) => seen.push(state.is === "loggedOut" ? state.reason : state.is))
    await signet.session.ready
    return signet.session.current.is
  },
  async signIn(idToken) {
    await opened().login({ provider: "IDP_A", nonce: "n-1", credential: { idToken } })
  },
  seen: () => seen,
  async whoAmI() {
    const answers = [connect, grpcWeb, rest].map((wire) =>
      createClient(AuthService, opened().session.transport({ wire })).me({}),
    )
    return (await Promise.all(answers)).map(({ principal }) => principal?.id ?? "")
  },
  async token() {
    try {
      return (await opened().session.accessToken()).slice(-20)
    } catch (error) {
      if (!isFailure(error)) throw error
      return Object(error).reason
    }
  },
  logout: async () => (await opened().session.logout()).endedAtService,
  jump: setClock,
  async askWorker(settings) {
    const { active } = await navigator.serviceWorker.ready
    const answer = new MessageChannel()
    const heard = new Promise<string>((resolve) => {
      answer.port1.onmessage = ({ data }) => resolve(String(data))
    })
    active?.postMessage(settings, [answer.port2])
    return heard
  },
  cameBack: () => hasComeBack,
  async kept() {
    const names = (await indexedDB.databases()).map(({ name }) => name ?? "")
    const all = await Promise.all(names.map(everythingIn))
    return JSON.stringify([all, { ...localStorage }, { ...sessionStorage }, document.cookie])
  },
  async stealKeys() {
    const rows = await rowsOf("signet-keys")
    const keys = rows.flatMap((row): { key: CryptoKey }[] => Object(row).keys)
    const formats = keys.flatMap(({ key }) => (["raw", "jwk"] as const).map((format) => ({ key, format })))
    return Promise.all(
      formats.map(({ key, format }) =>
        crypto.subtle.exportKey(format, key).then(
          () => "taken",
          (error: unknown) => String(Object(error).name),
        ),
      ),
    )
  },
  async raceOnStorage() {
    const stores = [createIdbStorage("race"), createIdbStorage("race")]
    const first = await stores[0]?.write("a", new Uint8Array([0]), undefined)
    const written = await Promise.all(stores.map((storage, i) => storage.write("a", new Uint8Array([i]), first)))
    return written.map((revision) => revision !== undefined)
  },
  async tryBox() {
    const box = createWebSecretBox("tried")
    const scope = { app: "app_1" }
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
    try {
      await box.createKey(scope)
      const sealed = await box.seal(scope, "a", new TextEncoder().encode("secret"))
      await box.rotate(scope)
      const again = createWebSecretBox("tried")
      const opened = text(await again.open(scope, "a", sealed))
      const elsewhere = await again.open(scope, "b", sealed).catch((error: unknown) => Object(error).reason)
      const others = await again.open({ app: "app_2" }, "a", sealed).catch((error: unknown) => Object(error).reason)
      await box.destroy(scope)
      const gone = await again.open(scope, "a", sealed).catch((error: unknown) => Object(error).reason)
      return [opened, elsewhere, others, gone].join(" ")
    } catch (error) {
      return String(Object(error).reason ?? error)
    }
  },
}

async function rowsOf(name: string): Promise<unknown[]> {
  const resultOf = <T>(request: IDBRequest<T>) =>
    new Promise<T>((resolve) => {
      request.onsuccess = () => resolve(request.result)
    })
  const database = await resultOf(indexedDB.open(name))
  const stores = [...database.objectStoreNames]
  const rows = await Promise.all(
    stores.map((store) => resultOf(database.transaction(store).objectStore(store).getAll())),
  )
  database.close()
  return rows.flat()
}

async function everythingIn(name: string): Promise<unknown> {
  const rows = await rowsOf(name)
  // Bytes as the text that they may be.
  return JSON.parse(
    JSON.stringify(rows, (_, value) => (value instanceof Uint8Array ? new TextDecoder().decode(value) : value)),
  )
}

if ("serviceWorker" in navigator) void navigator.serviceWorker.register("/worker.js").catch(() => undefined)
