// Moving under load: devices that write continuously through one address, and the length of the interruption.
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

/** Returns tokens of a service that may move the app, from the server's token endpoint. */
export async function moverOf(server: MessagingServer, audience = "auth"): Promise<() => Promise<string>> {
  const asked = { appId: server.app.id, name: "mover", messagingAudience: audience, replaces: false }
  const { clientId, clientSecret } = await createMessagingMover(server.deps, asked)
  return createBearer({ issuer: server.url, clientId, secret: clientSecret, audience })
}

export const backendAt = (url: string, place: Place, bearer: () => Promise<string>): Backend =>
  backendOver(connectTo(url), place, bearer)

export interface Load {
  /** Number of refused writes by reason. */
  readonly refusals: Map<string, number>
  /** The longest time without an accepted write, in milliseconds. */
  longestMs(): number
  stop(): Promise<void>
}

/** Each writer sends as fast as it gets answers, and retries refused writes. */
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
  // `stop` reports the error.
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

/** Moves the place, and switches the clients' address. */
export const moveBehind = (address: Switchable, of: MoveOptions & { readonly targetUrl: string }): Promise<Moved> =>
  move({
    ...of,
    onOpen: async () => {
      address.switchTo(of.targetUrl)
      await of.onOpen?.()
    },
  })
