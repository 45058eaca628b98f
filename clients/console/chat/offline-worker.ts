// The service worker of the chat's document alone: stores the files of this build, and answers with them while the
// server cannot be reached. It stores no answer of the contract, so the cache has nothing of a person.

/** Set by scripts/console/build.ts: a hash of the build, and the paths of its files. */
declare const BUILD: { readonly version: string; readonly assets: readonly string[] }

interface LifeEvent {
  waitUntil(work: Promise<unknown>): void
}
interface RequestEvent {
  readonly request: Request
  respondWith(answer: Promise<Response>): void
}
// The types of a service worker exclude those of a page, which the rest of the console has.
declare function addEventListener(type: "install" | "activate", listener: (event: LifeEvent) => void): void
declare function addEventListener(type: "fetch", listener: (event: RequestEvent) => void): void

const page = "/console/chat"
const settings = "/console/settings.json"
const family = "signet-chat-"
const name = family + BUILD.version
const assets = new Set(BUILD.assets)

addEventListener("install", (event) => event.waitUntil(store()))
addEventListener("activate", (event) => event.waitUntil(dropOlder()))
addEventListener("fetch", (event) => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (request.method !== "GET" || origin !== location.origin) return
  if (assets.has(pathname)) event.respondWith(storedOr(request))
  else if (pathname === settings) event.respondWith(freshOr(request, settings))
  else if (request.mode === "navigate" && isChat(pathname)) event.respondWith(freshOr(request, page))
})

const isChat = (pathname: string): boolean => pathname === page || pathname.startsWith(`${page}/`)

async function store(): Promise<void> {
  const cache = await caches.open(name)
  // Past the browser's own cache: the document and the settings change.
  await cache.addAll([page, settings].map((path) => new Request(path, { cache: "reload" })))
  await cache.addAll(BUILD.assets)
}

async function dropOlder(): Promise<void> {
  const older = (await caches.keys()).filter((one) => one.startsWith(family) && one !== name)
  await Promise.all(older.map((one) => caches.delete(one)))
}

/** A file that is named by the hash of its content never changes. */
async function storedOr(request: Request): Promise<Response> {
  return (await caches.match(request, { cacheName: name })) ?? fetch(request)
}

async function freshOr(request: Request, path: string): Promise<Response> {
  try {
    return await fetch(request)
  } catch (error) {
    const stored = await caches.match(path, { cacheName: name })
    if (stored === undefined) throw error
    return stored
  }
}

export {}
