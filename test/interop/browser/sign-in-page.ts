// An app as a newcomer writes it: it configures at once, finishes sign-ins at /callback, and shows what happened.
import { configure, createWebSecretBox, type PageSignInOptions, type WebSignet } from "@signet/client-web"

interface SignInPage {
  readonly signet: WebSignet
  /** What the stream has said so far. */
  readonly seen: string[]
  /** What the callback came to: where to go on, or a reason; "none" for a page that is no callback. */
  callback(): Promise<string>
  options(): Promise<string[]>
  redirect(options?: PageSignInOptions): Promise<string>
  popup(options?: PageSignInOptions): Promise<string>
  logout(): Promise<boolean>
  token(): Promise<string>
  /** All that a script of this origin reads. */
  kept(): Promise<string>
}

declare global {
  interface Window {
    app: SignInPage
    /** Set by the test before anything runs. */
    settings: { appId: string; authBaseUrl: string }
    hasBox?: boolean
  }
}

const { settings } = window
const place = window.hasBox && ({ refreshToken: { in: "box", box: createWebSecretBox() } } as const)
const signet = configure({ ...settings, providers: ["IDP_A"], ...place })
const seen: string[] = []
signet.session.subscribe((state) => seen.push(state.is === "loggedOut" ? state.reason : state.is))

const told = (error: unknown): string => `${Object(error).reason}: ${Object(error).message}`
// A test that wants the answer for itself says so.
const handling = sessionStorage.getItem("hold") === null ? signet.handleCallback() : Promise.resolve(undefined)
const handled = handling.then((result) => result?.returnTo ?? "none", told)

window.app = {
  signet,
  seen,
  callback: () => handled,
  options: () =>
    signet.signInOptions().then(
      (options) => options.map(({ connection, displayName }) => `${connection}: ${displayName}`),
      (error: unknown) => [told(error)],
    ),
  redirect: (options) => signet.signInWithRedirect(options).catch(told),
  popup: (options) => signet.signInWithPopup(options).then(({ user }) => user.primaryEmail ?? "", told),
  logout: async () => (await signet.session.logout()).endedAtService,
  token: () =>
    signet.session.accessToken().then(
      () => "a token",
      (error: unknown) => String(Object(error).reason),
    ),
  async kept() {
    const names = (await indexedDB.databases()).map(({ name }) => name ?? "")
    const rows = await Promise.all(names.map(rowsOf))
    const shown = (_: string, value: unknown) => (value instanceof Uint8Array ? new TextDecoder().decode(value) : value)
    return JSON.stringify([rows, { ...localStorage }, { ...sessionStorage }, document.cookie, location.href], shown)
  },
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

async function rowsOf(name: string): Promise<unknown[]> {
  const database = await resultOf(indexedDB.open(name))
  const stores = [...database.objectStoreNames]
  const rows = await Promise.all(
    stores.map((store) => resultOf(database.transaction(store).objectStore(store).getAll())),
  )
  database.close()
  return rows.flat()
}
