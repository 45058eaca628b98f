// How long it takes until an append is heard on every stream, and the same from a server that only writes to streams.
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { Agent, get, type IncomingMessage } from "node:http"
import { join } from "node:path"
import type { Transport } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { callsOver } from "../../support/messaging/calls.ts"
import type { World } from "../../support/messaging/world.ts"
import { appender, inBatches, newcomer } from "./cast.ts"
import { type Processes, quantiles, type Row, startMeter } from "./measure.ts"

const streamsOfDevice = 4

/**
 * The readers' own work takes most of the time until all have heard: they share this process. `serverMicros` has the
 * server's part.
 *
 * @param streams At most four times the leaves that a commit adds.
 */
export async function fanOut(
  world: World,
  { processes, streams, appends }: { processes: Processes; streams: number; appends: number },
): Promise<Row[]> {
  const open = () => createGrpcTransport({ baseUrl: world.baseUrl })
  const rows: Row[] = []
  const bare = quantiles(await bareStreams(streams, appends))
  rows.push({ name: `a write to ${streams} bare streams`, ratio: 1, ...bare })
  for (const includeEnvelopes of [false, true]) {
    let meter = startMeter(processes)
    const onWarm = () => {
      meter = startMeter(processes)
    }
    const of = quantiles(await heardOn(world, { streams, appends, open, includeEnvelopes, onWarm }))
    const name = `an append to ${streams} streams${includeEnvelopes ? " that include it" : ""}`
    rows.push({ name, ratio: bare.p50Ms / of.p50Ms, ...of, ...meter(appends) })
  }
  return rows
}

interface FanOut {
  readonly streams: number
  readonly appends: number
  /** A connection, which fifty streams share. */
  readonly open: () => Transport
  readonly includeEnvelopes?: boolean
  /** Called when the first append, which is not counted, was heard. */
  readonly onWarm?: () => void
}

/** Milliseconds from the call until each stream has heard of it. */
export async function heardOn(world: World, options: FanOut): Promise<number[]> {
  const { streams, appends, open: connect, includeEnvelopes = false, onWarm = () => undefined } = options
  const transport = connect()
  const devices = await inBatches(Math.ceil(streams / streamsOfDevice), () => newcomer(world, transport, 1))
  const [sender, ...others] = devices
  if (sender === undefined) throw new Error("nobody sends")
  const room = await sender.createGroup(others.map(({ userId }) => userId))
  const append = await appender(sender, room)

  const controller = new AbortController()
  const heard: number[] = []
  let startedMs = 0
  let head = 1n
  let missing = 0
  let done = () => {}
  // A connection for fifty streams each, as a gateway in front has them.
  const connections = Array.from({ length: Math.ceil(streams / 50) }, connect)
  const open = async (i: number) => {
    const device = devices[Math.floor(i / streamsOfDevice)] ?? sender
    const { conversations } = callsOver(connections[i % connections.length] ?? transport, device.credentials)
    const events = conversations.subscribe({ includeEnvelopes }, { signal: controller.signal })[Symbol.asyncIterator]()
    await events.next()
    const listen = async () => {
      let seen = head
      for (;;) {
        const { value, done: isOver } = await events.next()
        if (isOver) return
        if (value.event.case !== "envelopeAvailable" || value.event.value.headSeq <= seen) continue
        seen = value.event.value.headSeq
        heard.push(performance.now() - startedMs)
        missing--
        if (missing === 0) done()
      }
    }
    listen().catch(() => {})
  }
  await inBatches(streams, open, 16)
  for (let i = 0; i <= appends; i++) {
    const all = Promise.withResolvers<void>()
    done = all.resolve
    missing = streams
    startedMs = performance.now()
    head += 1n
    await Promise.all([append(), all.promise])
    if (i > 0) continue
    heard.length = 0
    onWarm()
  }
  controller.abort()
  return heard
}

async function bareStreams(streams: number, appends: number): Promise<number[]> {
  const child: ChildProcess = fork(join(import.meta.dirname, "bare-streams.ts"))
  const [{ port }] = await once(child, "message")
  const agent = new Agent({ keepAlive: true })
  const url = `http://127.0.0.1:${port}`
  const heard: number[] = []
  let startedMs = 0
  let missing = 0
  let done = () => {}
  const open = () =>
    new Promise<IncomingMessage>((resolve, reject) => {
      get(`${url}/stream`, { agent: false }, (response) => {
        response.once("data", () => {
          response.on("data", () => {
            heard.push(performance.now() - startedMs)
            missing--
            if (missing === 0) done()
          })
          resolve(response)
        })
      }).on("error", reject)
    })
  const opened = await inBatches(streams, open, 50)
  for (let i = 0; i <= appends; i++) {
    const all = Promise.withResolvers<void>()
    done = all.resolve
    missing = streams
    startedMs = performance.now()
    get(`${url}/send`, { agent }, (response) => response.resume())
    await all.promise
    if (i === 0) heard.length = 0
  }
  for (const response of opened) response.destroy()
  agent.destroy()
  child.disconnect()
  await once(child, "exit")
  return heard
}
