// Hints between objects and streams: handlers publish them, and objects forward them to the subscribed devices.
import { waitUntil } from "cloudflare:workers"
import type { Hint, Wakeups } from "@signet/kernel/messaging/wakeups"
import { type Line, openStream, type StreamOptions } from "./stream.ts"

interface Env {
  readonly CONVERSATIONS: { getByName(name: string): { sendHints(hints: readonly Hint[]): Promise<void> } }
  readonly DEVICES: {
    getByName(name: string): {
      hear(hints: readonly Hint[]): Promise<boolean>
      fetch(request: Request): Promise<Response>
    }
  }
}

/** A stream belongs to the call that creates it: its socket and timers end with that call. */
export function createWakeups(of: { env: Env } & Omit<StreamOptions, "open">): Wakeups {
  const { env, ...rest } = of
  const open = (deviceId: string, on: { text(text: string): void; closed(): void }) => openLine(env, deviceId, on)
  return {
    publish(hints) {
      const work = [...byObject(hints)].map(([name, own]) => sendHints(env, name, own))
      if (work.length > 0) waitUntil(Promise.allSettled(work))
    },
    subscribe: (interest, listener) => openStream({ open, ...rest }, interest, listener),
  }
}

type Name = `${"conversation" | "device"} ${string}`

function byObject(hints: readonly Hint[]): ReadonlyMap<Name, readonly Hint[]> {
  const grouped = new Map<Name, Hint[]>()
  for (const hint of hints) {
    const name = nameOf(hint)
    if (name === undefined) continue
    grouped.set(name, [...(grouped.get(name) ?? []), hint])
  }
  return grouped
}

function nameOf(hint: Hint): Name | undefined {
  switch (hint.is) {
    case "directive":
      return `conversation ${hint.conversationId}`
    case "envelopes":
    case "deviceList":
    case "welcome":
      // The device's object reports it.
      return undefined
    default:
      return `device ${hint.deviceId}`
  }
}

async function sendHints({ CONVERSATIONS, DEVICES }: Env, name: Name, hints: readonly Hint[]): Promise<void> {
  const [kind, id = ""] = name.split(" ")
  if (kind === "conversation") await CONVERSATIONS.getByName(id).sendHints(hints)
  else await DEVICES.getByName(id).hear(hints)
}

async function openLine(
  { DEVICES }: Env,
  deviceId: string,
  on: { text(text: string): void; closed(): void },
): Promise<Line> {
  const request = new Request("https://device/stream", { headers: { upgrade: "websocket" } })
  const { webSocket } = await DEVICES.getByName(deviceId).fetch(request)
  if (webSocket === null) throw new Error("the device's object does not open a stream")
  webSocket.addEventListener("message", ({ data }) => {
    if (typeof data === "string") on.text(data)
  })
  webSocket.addEventListener("close", on.closed)
  webSocket.addEventListener("error", on.closed)
  webSocket.accept()
  return {
    send: (text) => webSocket.send(text),
    close() {
      try {
        webSocket.close(1000)
      } catch {
        // The socket is closed.
      }
    },
  }
}
