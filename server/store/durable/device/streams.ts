// The streams of a device: one WebSocket from the Worker per stream. They may outlive this object's memory, so it keeps
// no state of them: the Worker repeats its subscriptions, and this object calls the subscribed objects.
import type { PrincipalId } from "@signet/kernel/ids"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import { fromText, toText } from "../plain.ts"
import type { ConversationAsk, StreamAsk, StreamMessage, UserAsk } from "../stream-asks.ts"

/** More than any device may have at once: bounds the sockets that Workers left open. */
const mostSockets = 16
const askedAtOnce = 32

/** An admitted stream has opened its socket by then, or never will. */
const admittedMs = 5_000

/** The part of an object's interface that answers subscriptions. */
interface HintSource<Ask> {
  getByName(name: string): { listen(ask: Ask): Promise<readonly Hint[]> }
}

interface Of {
  readonly ctx: Pick<DurableObjectState, "acceptWebSocket" | "getWebSockets">
  readonly env: { readonly CONVERSATIONS: HintSource<ConversationAsk>; readonly USERS: HintSource<UserAsk> }
  /** The name of the user's object, `app/tenant/user`; undefined before the registration. */
  readonly user: () => string | undefined
}

export interface DeviceStreams {
  /** True if fewer than `most` streams are open. Otherwise the open ones check whether they still have readers. */
  admit(most: number, nowMs: number): boolean
  /** Opens the socket of a stream. */
  open(request: Request): Response
  /** Handles a message of the Worker on a socket. */
  said(socket: WebSocket, message: string | ArrayBuffer): Promise<void>
  /** Sends hints. @returns True if there is a stream. */
  hear(hints: readonly Hint[]): boolean
}

export function createDeviceStreams({ ctx, env, user }: Of): DeviceStreams {
  async function askAll({ deviceId, conversations, userIds }: StreamAsk): Promise<Omit<StreamMessage, "asked">> {
    // A message that only checks the connection costs no row.
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

  // The times of recent admissions. Lost with the memory, which is harmless: open sockets count.
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

/** The name of another user's object: users of one conversation are at the same place. */
const besides = (own: string, userId: PrincipalId): string => `${own.slice(0, own.lastIndexOf("/"))}/${userId}`

function send(socket: WebSocket, message: StreamMessage): void {
  try {
    socket.send(toText(message))
  } catch {
    // The socket is closing: the Worker opens another one.
  }
}

function close(socket: WebSocket): void {
  try {
    socket.close(1000, "too many")
  } catch {
    // The socket is closed.
  }
}
