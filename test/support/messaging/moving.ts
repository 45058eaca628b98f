// Moving under load: devices that write all the time through one address, and how long they were refused.
import { createConnectTransport } from "@connectrpc/connect-node"
import type { Place } from "@signet/kernel/messaging/records"
import { type Backend, backendOver } from "../../../server/node/admin/moving/backend.ts"
import { type Moved, type MoveOptions, move } from "../../../server/node/admin/moving/move.ts"
import { createBearer } from "../../../server/node/admin/moving/token.ts"
import { createMessagingMover } from "../../../server/rpc/admin/create-backend.ts"
import { refusal } from "../clients.ts"
import type { Switchable } from "../switchable.ts"
import type { MessagingServer } from "./test-server.ts"
import { isGone, type Writer, writeOnce } from "./writers.ts"

export const connectTo = (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "1.1" })

/** Tokens of a service of the app that may move it, from the server's own token endpoint. */
export async function moverOf(server: MessagingServer, audience = "auth"): Promise<() => Promise<string>> {
  const asked = { appId: server.app.id, name: "mover", messagingAudience: audience, replaces: false }
  const { clientId, clientSecret } = await createMessagingMover(server.deps, asked)
  return createBearer({ issuer: server.url, clientId, secret: clientSecret, audience })
}

export const backendAt = (url: string, place: Place, bearer: () => Promise<string>): Backend =>
  backendOver(connectTo(url), place, bearer)

export interface Load {
  /** What writers were refused with, and how often. */
  readonly refusals: Map<string, number>
  /** The longest that no write was taken, in milliseconds. */
  longestMs(): number
  stop(): Promise<void>
}

/** Each writes as fast as it is answered, and again what was refused. */
export function startLoad(writers: readonly Writer[]): Load {
  const refusals = new Map<string, number>()
  let isOver = false
  let lastMs = performance.now()
  let longestMs = 0
  const work = writers.map(async (writer, number) => {
    for (let count = 0; !isOver || writer.pending !== undefined; count++) {
      try {
        await writeOnce(writer, number === 0 && count % 20 === 19)
        const nowMs = performance.now()
        longestMs = Math.max(longestMs, nowMs - lastMs)
        lastMs = nowMs
      } catch (error) {
        if (!isGone(error)) throw error
        const reason = await refusal(Promise.reject(error))
        refusals.set(reason, (refusals.get(reason) ?? 0) + 1)
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    }
  })
  const done = Promise.all(work)
  // Whoever stops hears of it.
  done.catch(() => undefined)
  return {
    refusals,
    longestMs: () => longestMs,
    async stop() {
      isOver = true
      await done
    },
  }
}

/** Moves it, and the clients' address with it. */
export const moveBehind = (address: Switchable, of: MoveOptions & { readonly targetUrl: string }): Promise<Moved> =>
  move({
    ...of,
    onOpen: async () => {
      address.switchTo(of.targetUrl)
      await of.onOpen?.()
    },
  })
