// The service worker of the push story: it peeks at each push, and sends the result to the pages.
import { peek, type WebPeekOptions } from "@signet/client-web/messaging/peek"
import type { PushWorkerOptions } from "./messenger-page.ts"

interface PushWorker {
  addEventListener(type: "message", listener: (event: MessageEvent<PushWorkerOptions>) => void): void
  addEventListener(type: "push", listener: (event: { waitUntil(work: Promise<void>): void }) => void): void
  readonly clients: {
    matchAll(options: { includeUncontrolled: boolean }): Promise<readonly { postMessage(message: unknown): void }[]>
  }
}

declare const self: PushWorker

let options: WebPeekOptions | undefined

self.addEventListener("message", ({ data }) => {
  const { messaging, appId, userId, accessToken } = data
  options = { messaging, session: { appId, tenantId: undefined, userId, accessToken: async () => accessToken } }
})

self.addEventListener("push", (event) => event.waitUntil(show()))

async function show(): Promise<void> {
  const pages = await self.clients.matchAll({ includeUncontrolled: true })
  for (const page of pages) page.postMessage(await shown())
}

async function shown(): Promise<string[] | string> {
  if (options === undefined) return "no options"
  const peeked = await peek(options)
  if (peeked.is === "newMessages") return peeked.is
  return peeked.previews.flatMap(({ entry }) =>
    entry.is === "message" ? [new TextDecoder().decode(entry.plaintext)] : [],
  )
}
