// The unlock agent: a process that holds a sealed key in memory behind a Unix socket for a limited time.
//
// The key is sealed under bytes that are only in a file of the socket's folder. A dump of this process or a copy of the
// disk does not reveal the key, and the file is useless after the process has ended.
import { rmSync, statSync } from "node:fs"
import { createServer, type Socket } from "node:net"
import type { Readable, Writable } from "node:stream"

/** The message that the agent reads from standard input. */
export interface AgentOrder {
  readonly socket: string
  readonly wrap: string
  /** Names the passphrase file and its parameters. */
  readonly id: string
  /** The sealed key, in base64url. */
  readonly sealed: string
  readonly minutes: number
}

/** A request is one line: an operation, and the id for `find`. */
export const maxRequestBytes = 1024
const requestMs = 2_000
const lookMs = 2_000

/** Runs until the time is over, a `lock`, a signal, or a change of the socket's path. */
export async function runAgent(stdin: Readable, stdout: Writable): Promise<void> {
  const order = parseOrder(await textOf(stdin))
  // Both clocks: the monotonic one stops while a machine sleeps, and the other one may be set back.
  const wallEndMs = Date.now() + order.minutes * 60_000
  const monotonicEndMs = performance.now() + order.minutes * 60_000
  const isOver = () => Date.now() >= wallEndMs || performance.now() >= monotonicEndMs
  process.umask(0o177)
  const server = createServer((socket) => {
    if (isOver()) end()
    answer(socket, order, end)
  })
  server.maxConnections = 16
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(order.socket, resolve))
  const inode = inodeOf(order.socket)

  function end(): never {
    if (inodeOf(order.socket) === inode) {
      rmSync(order.socket, { force: true })
      rmSync(order.wrap, { force: true })
    }
    process.exit(0)
  }
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, end)
  // An agent whose socket was removed or replaced is unreachable, also for `signet lock`.
  setInterval(() => (isOver() || inodeOf(order.socket) !== inode ? end() : undefined), lookMs)
  stdout.on("error", () => undefined)
  stdout.write("ready\n")
}

function answer(socket: Socket, { id, sealed }: AgentOrder, end: () => void): void {
  let line = ""
  socket.setTimeout(requestMs, () => socket.destroy())
  socket.on("error", () => socket.destroy())
  socket.setEncoding("utf8").on("data", (text: string) => {
    line += text
    if (line.length > maxRequestBytes) socket.destroy()
    if (!line.endsWith("\n")) return
    if (line === `find ${id}\n`) socket.end(`${sealed}\n`)
    else if (line === "lock\n") socket.end("locked\n", end)
    else socket.end("none\n")
  })
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino
}

async function textOf(stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString("utf8")
}

function parseOrder(text: string): AgentOrder {
  const json: unknown = JSON.parse(text)
  if (typeof json !== "object" || json === null) throw new Error("no order")
  const { socket, wrap, id, sealed, minutes }: Record<string, unknown> = { ...json }
  if (
    typeof socket === "string" &&
    typeof wrap === "string" &&
    typeof id === "string" &&
    typeof sealed === "string" &&
    typeof minutes === "number"
  ) {
    return { socket, wrap, id, sealed, minutes }
  }
  throw new Error("no order")
}
