// The streams of a device: sockets that the Worker holds, one a stream. They may outlive this object's memory, so nothing
// of them is kept in it: the Worker says again and again what it listens to, and this object asks there on its behalf.
import type { PrincipalId } from "@signet/kernel/ids"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import { fromText, toText } from "../plain.ts"
import type { ConversationAsk, StreamAsk, Told, UserAsk } from "../stream-asks.ts"

/** More than any device may have at once: what the Worker left behind. */
const mostSockets = 16
const askedAtOnce = 32

/** A stream that was admitted has its socket by then, or none. */
const admittedMs = 5_000

/** What an object answers that has something to tell. */
interface Telling<Ask> {
  getByName(name: string): { listen(ask: Ask): Promise<readonly Hint[]> }
}

interface Of {
  readonly ctx: Pick<DurableObjectState, "acceptWebSocket" | "getWebSockets">
  readonly env: { readonly CONVERSATIONS: Telling<ConversationAsk>; readonly USERS: Telling<UserAsk> }
  /** The name of the user's object, `app/tenant/user`; undefined while the device is none. */
  readonly user: () => string | undefined
}

export interface DeviceStreams {
  /** Whether there is room for one more of so many. If not, those that are there find out whether they have readers. */
  admit(most: number, nowMs: number): boolean
  /** The socket of a stream. */
  open(request: Request): Response
  /** What the Worker says on it. */
  said(socket: WebSocket, message: string | ArrayBuffer): Promise<void>
  /** Whether there is anybody to be told. */
  hear(hints: readonly Hint[]): boolean
}

export function createDeviceStreams({ ctx, env, user }: Of): DeviceStreams {
  async function askAll({ deviceId, conversations, userIds }: StreamAsk): Promise<Omit<Told, "asked">> {
    // Who only asks whether anybody is there costs no row.
    const own = conversations.length + userIds.length === 0 ? undefined : user()
    const asks: Ask[] = []
    for (const { id, seq, sinceMs } of own === undefined ? [] : conversations) {
      asks.push({ id, ask: () => env.CONVERSATIONS.getByName(id).listen({ deviceId, user: own ?? "", seq, sinceMs }) })
    }
    for (const { id, sinceMs } of own === undefined ? [] : userIds) {
      asks.push({ id, ask: () => env.USERS.getByName(besides(own ?? "", id)).listen({ deviceId, sinceMs }) })
    }
    const hints: Hint[] = []
    const unheard: string[] = []
    const next = asks.values()
    const work = async () => {
      for (const { id, ask } of next) {
        const found = await ask().catch(() => undefined)
        if (found === undefined) unheard.push(id)
        else hints.push(...found)
      }
    }
    await Promise.all(Array.from({ length: Math.min(askedAtOnce, asks.length) }, work))
    return { hints, unheard }
  }

  // Of who was admitted a moment ago. Lost with the memory: sockets are what counts.
  let admitted: number[] = []

  return {
    admit(most, nowMs) {
      admitted = admitted.filter((atMs) => nowMs - atMs < admittedMs)
      const open = ctx.getWebSockets().filter(({ readyState }) => readyState === WebSocket.READY_STATE_OPEN)
      const hasRoom = open.length + admitted.length < most
      if (hasRoom) admitted.push(nowMs)
      else for (const socket of open) send(socket, { asked: null, hints: [], unheard: [], beat: true })
      return hasRoom
    },

    open(request) {
      if (request.headers.get("upgrade") !== "websocket") return new Response(null, { status: 426 })
      const { 0: outer, 1: inner } = new WebSocketPair()
      const open = ctx.getWebSockets()
      for (const socket of open.slice(0, Math.max(0, open.length - mostSockets + 1))) close(socket)
      ctx.acceptWebSocket(inner)
      admitted.shift()
      return new Response(null, { status: 101, webSocket: outer })
    },

    async said(socket, message) {
      if (typeof message !== "string") return
      const ask = fromText<StreamAsk>(message)
      send(socket, { asked: ask.number, ...(await askAll(ask)) })
    },

    hear(hints) {
      const sockets = ctx.getWebSockets()
      for (const socket of sockets) send(socket, { asked: null, hints, unheard: [] })
      return sockets.length > 0
    },
  }
}

interface Ask {
  readonly id: string
  readonly ask: () => Promise<readonly Hint[]>
}

/** The name of another user's object: whoever shares a conversation is at the same place. */
const besides = (own: string, userId: PrincipalId): string => `${own.slice(0, own.lastIndexOf("/"))}/${userId}`

function send(socket: WebSocket, told: Told): void {
  try {
    socket.send(toText(told))
  } catch {
    // It is closing: who is at the other end opens another.
  }
}

function close(socket: WebSocket): void {
  try {
    socket.close(1000, "too many")
  } catch {
    // It is closed.
  }
}
