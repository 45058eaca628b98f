// Two users in one group, for stories about the files that they exchange.
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { concat } from "@signet/canonical/bytes"
import { expect } from "vitest"
import type { Messenger } from "../../../clients/core/messaging/messenger.ts"
import { plaintextOf } from "../../../clients/core/messaging/testing/attachment-bytes.ts"
import { type Deployment, startDeployment } from "../edge-server.ts"
import { storyStore } from "../postgres.ts"
import { type Messengers, messengersOn, type OpenedMessenger, systemClock } from "./messengers.ts"

export const mib = 1_048_576
/** A file of two parts. */
export const bytes = plaintextOf(1_100_000)
export const file = new Blob([bytes])

/** A clock whose retries do not wait. */
export const clock = { ...systemClock, after: (_: number, run: () => void) => systemClock.after(0, run) }

export interface Attaching {
  readonly server: Deployment
  readonly messengers: Messengers
  readonly ann: OpenedMessenger
  readonly ben: OpenedMessenger
  /** Id of their conversation. */
  readonly id: string
  again(opened: OpenedMessenger, transport: Transport): Promise<OpenedMessenger>
  /** The newest entry of a timeline, which must be an attachment. */
  newest(messenger: Messenger): Promise<Awaited<ReturnType<Messenger["timeline"]>>[number] & { is: "attachment" }>
  /** A network that fails permanently from its k-th call on, counted from 0. */
  endingTransport(at: number, when: "before" | "after"): Transport & { readonly count: number }
  close(): Promise<void>
}

export async function startAttaching(): Promise<Attaching> {
  const server = await startDeployment({ store: storyStore })
  const messengers = messengersOn(server)
  const ann = await messengers.newcomer("ann")
  const ben = await messengers.newcomer("ben")
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  await ben.messenger.sync()
  return {
    server,
    messengers,
    ann,
    ben,
    id,
    again: ({ person, store, box }, transport) => messengers.open(person, { store, box, transport, clock }),
    async newest(messenger) {
      await messenger.sync()
      const entry = (await messenger.timeline(id, { limit: 10_000 })).at(-1)
      return entry?.is === "attachment" ? entry : expect.fail(`no attachment: ${entry?.is}`)
    },
    endingTransport(at, when) {
      let count = 0
      const lost = () => new ConnectError("the network has ended", Code.Unavailable)
      return {
        get count() {
          return count
        },
        async unary(...call) {
          const now = count++
          if (now < at) return messengers.transport.unary(...call)
          if (now === at && when === "after") await messengers.transport.unary(...call)
          throw lost()
        },
        stream: (...call) => messengers.transport.stream(...call),
      }
    },
    async close() {
      await messengers.close()
      await server.close()
    },
  }
}

/** An element-wise comparison of a megabyte would take a second. */
export const expectSame = (one: Uint8Array, other: Uint8Array) => expect(Buffer.compare(one, other)).toBe(0)

export async function readAll(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of stream) pieces.push(piece)
  return concat(...pieces)
}
