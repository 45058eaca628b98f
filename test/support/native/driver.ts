// A process that runs the functions of libsignet for a test.
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { ClientFailureSchema, type IdentityOptionsSchema } from "@signet/proto/client/v1/identity_service"
import { type HostSessionSchema, NativeOptionsSchema, type Primitive } from "@signet/proto/host/v1/host"
import { CoreError } from "../../../clients/native/wasm/failure.ts"
import type { Emulator } from "./library.ts"

interface BoxInit {
  readonly backend?: string
  readonly version?: number
  readonly persistent?: boolean
}

export interface NativeOptionsInit {
  readonly identity?: MessageInitShape<typeof IdentityOptionsSchema>
  readonly dataFolder?: string
  readonly box?:
    | { readonly case: "passphrase"; readonly value: { passphrase?: Uint8Array } }
    | { readonly case: "programBox" | "wrappedBox"; readonly value: BoxInit }
    | { readonly case: "secretService"; readonly value: object }
    | { readonly case: "dpapi"; readonly value: object }
    | { readonly case: "keychain"; readonly value: { afterFirstUnlock?: boolean; accessGroup?: string } }
    | { readonly case: undefined }
  readonly performs?: number[]
  readonly trustAnchors?: string
  readonly memoryLimitMib?: number
  readonly platform?: string
  readonly session?: MessageInitShape<typeof HostSessionSchema>
  readonly deferred?: Primitive[]
}

export const status = {
  OK: 0,
  TIMEOUT: 1,
  ARGUMENT: -1,
  VERSION: -2,
  HANDLE: -3,
  BUSY: -4,
  OPEN: -5,
  STOPPED: -6,
} as const

interface DriverOutput {
  readonly status: number
  readonly kind: number
  readonly id: number
  readonly bytes: Uint8Array
}

/** How the program's own primitives behave. */
export type HostMode = "none" | "log" | "fail" | "lie" | "garbage" | "fixed" | "wrap" | "lost" | "slow" | "seeded"

export interface Driver {
  readonly pid: number
  /** @throws CoreError with the status in its message. */
  open(options: NativeOptionsInit, mode?: HostMode): Promise<void>
  /** Writes a command of driver.c, and returns its answer. */
  command(line: string): Promise<string>
  next(timeoutMs: number): Promise<DriverOutput>
  /** Calls a method, and waits for its reply. Other outputs are kept. @throws CoreError */
  call(method: string, request: Uint8Array): Promise<Uint8Array>
  /** Events, as signet_next() returned them. */
  readonly events: DriverOutput[]
  readonly effects: DriverOutput[]
  /** Performs an effect, or its end, before the next output is read. */
  onEffect: ((output: DriverOutput) => Promise<void>) | undefined
  /** What the process wrote to its error output. */
  readonly lines: string[]
  /** Occurrences of the text in the process's memory. */
  scan(text: string): Promise<number>
  close(): Promise<number>
  /** Ends the process. Its exit code and signal. */
  stop(): Promise<{ code: number | null; signal: string | null }>
  kill(): void
}

const hexOf = (bytes: Uint8Array) => (bytes.length === 0 ? "-" : Buffer.from(bytes).toString("hex"))
const bytesOf = (text = "-") => (text === "-" ? new Uint8Array() : new Uint8Array(Buffer.from(text, "hex")))

export const optionsBytes = (options: NativeOptionsInit): Uint8Array =>
  toBinary(NativeOptionsSchema, create(NativeOptionsSchema, options))

/** @param program `driver` for the real core; the others have the tests' core. */
export function startDriver(
  folder: string,
  program: "driver" | "unit-driver" | "keychain-driver",
  env?: NodeJS.ProcessEnv,
  emulator: Emulator = { command: [] },
): Driver {
  const [command = "", ...args] = [...emulator.command, join(folder, `${program}${emulator.suffix ?? ""}`)]
  const child = spawn(command, args, {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, ...emulator.env, ...env, ASAN_OPTIONS: "detect_stack_use_after_return=0" },
  })
  return driverOf(child)
}

function driverOf(child: ChildProcessByStdio<Writable, Readable, Readable>): Driver {
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const lines: string[] = []
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(line))
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) =>
    child.on("exit", (code, signal) => resolve({ code, signal })),
  )
  child.stdin.on("error", () => undefined)
  const events: DriverOutput[] = []
  const effects: DriverOutput[] = []
  const replies = new Map<number, DriverOutput>()
  let last: Promise<unknown> = Promise.resolve()
  let lastCall = 0

  /** Runs one command after the other. */
  const command = (line: string): Promise<string> => {
    const turn = last.then(async () => {
      child.stdin.write(`${line}\n`)
      const { value, done } = await answers.next()
      if (done) throw new Error(`the driver ended at "${line.slice(0, 60)}":\n${lines.join("\n")}`)
      return String(value)
    })
    last = turn.catch(() => undefined)
    return turn
  }
  const next = async (timeoutMs: number): Promise<DriverOutput> => {
    const [code, kind, id, bytes] = (await command(`next ${timeoutMs}`)).split(" ")
    return { status: Number(code), kind: Number(kind), id: Number(id), bytes: bytesOf(bytes) }
  }
  /** Sorts one output. */
  async function turn(): Promise<void> {
    const output = await next(50)
    if (output.status < 0) throw failed(output.bytes, output.status)
    if (output.kind === 1 || output.kind === 2) replies.set(output.id, output)
    if (output.kind === 3) events.push(output)
    if (output.kind > 3) effects.push(output)
    if (output.kind > 3) await driver.onEffect?.(output)
  }

  const driver: Driver = {
    ...{ pid: child.pid ?? 0, events, effects, lines, command, next, onEffect: undefined },
    async open(options, mode = "none") {
      const [code, error] = (await command(`open 1 ${mode} ${hexOf(optionsBytes(options))}`)).split(" ")
      if (code !== "0") throw failed(bytesOf(error), Number(code))
    },
    async call(method, request) {
      const id = ++lastCall
      const queued = Number(await command(`call ${id} ${method} ${hexOf(request)}`))
      if (queued !== 0) throw new Error(`signet_call returned ${queued}`)
      while (!replies.has(id)) await turn()
      const reply = replies.get(id)
      replies.delete(id)
      if (reply === undefined || reply.kind === 2) throw failed(reply?.bytes ?? new Uint8Array(), 0)
      return reply.bytes
    },
    async scan(text) {
      return Number(await command(`scan ${hexOf(new TextEncoder().encode(text).map((byte) => ~byte))}`))
    },
    close: async () => Number(await command("close")),
    stop() {
      child.stdin.end()
      return exited
    },
    kill: () => void child.kill("SIGKILL"),
  }
  return driver
}

function failed(bytes: Uint8Array, code: number): Error {
  const failure = fromBinary(ClientFailureSchema, bytes)
  return Object.assign(new CoreError(failure), { status: code })
}
