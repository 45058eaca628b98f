// The unlock agent as the command starts it: a separate process, with real sockets and files.
import { spawn } from "node:child_process"
import { once } from "node:events"
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createFileLock, createFileStorage, createPassphraseBox } from "@signet/client-node"
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import { hiddenAgent } from "../hidden.ts"
import { type FakeOptions, fakeCli } from "../testing/fake-cli.ts"
import type { AgentOrder } from "./agent.ts"
import { findKey, lockAgent, startAgent } from "./agent-client.ts"
import { type AgentPlace, agentPlaceOf } from "./folder.ts"

const program = join(import.meta.dirname, "../bin/signet.mjs")
const isLinux = process.platform === "linux"
const key = crypto.getRandomValues(new Uint8Array(32))
const passphrase = "correct horse"

let home: string
let place: AgentPlace
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "signet-"))
  const found = agentPlaceOf(home)
  if (found === undefined) throw new Error("no agent on this system")
  place = found
})
afterEach(async () => {
  await lockAgent(place).catch(() => undefined)
  rmSync(home, { recursive: true, force: true })
})

const start = (id = "id", minutes = 1) => startAgent(place, { program, id, key: Uint8Array.from(key), minutes })
const held = async (id = "id") => Buffer.from((await findKey(place, id)) ?? []).toString("hex")
const keyText = Buffer.from(key).toString("hex")

/** The running agents that this process has started. */
function agents(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const [, state, parent] = /\) (\w) (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? []
        const isAgent = readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("__unlock-agent")
        return isAgent && state !== "Z" && Number(parent) === process.pid
      } catch {
        return false
      }
    })
    .map(Number)
}

/** A store with the weakest permitted key derivation. */
async function makeStore(): Promise<void> {
  const storage = createFileStorage(join(home, "passphrase-box"))
  const lock = createFileLock(join(home, "box-lock"))
  const parameters = { memoryKiB: 19_456, passes: 2 }
  await createPassphraseBox({ storage, lock, parameters, passphrase: async () => passphrase }).createKey({
    app: "quick",
  })
}
const signet = (options: FakeOptions = {}) =>
  fakeCli({ program, ...options, env: { SIGNET_HOME: home, SIGNET_STORE: "passphrase", ...options.env } })

describe("the agent", () => {
  test("returns the key to its owner under its id, and nothing after a lock", async () => {
    await start()
    expect(await held()).toBe(keyText)
    expect(await held("another")).toBe("")
    expect(await lockAgent(place)).toBe(true)
    expect(await held()).toBe("")
    expect(readdirSync(place.folder)).toEqual([])
    expect(await lockAgent(place)).toBe(false)
  })

  test.runIf(isLong)("ends when its time is over, and deletes both files", async () => {
    await start("id", 1 / 60)
    expect(await held()).toBe(keyText)
    await vi.waitFor(() => expect(readdirSync(place.folder)).toEqual([]), { timeout: 30_000, interval: 100 })
    expect(await held()).toBe("")
  })

  test.each([
    ["the system's clock, as after a sleep of the machine,", "Date"],
    ["the monotonic clock, although the system's clock was set back,", "performance"],
  ])("ends when its time is over by %s", async (_, clock) => {
    // SIGUSR2 moves one clock by an hour.
    const preload = `const real = ${clock}.now.bind(${clock})
      process.on("SIGUSR2", () => {
        Object.defineProperty(${clock}, "now", { value: () => real() + 3_600_000 })
        process.stdout.write("moved\\n")
      })`
    mkdirSync(place.folder, { mode: 0o700 })
    const source = `data:text/javascript,${encodeURIComponent(preload)}`
    const child = spawn(process.execPath, ["--import", source, program, hiddenAgent], {
      stdio: ["pipe", "pipe", "inherit"],
    })
    onTestFinished(() => void child.kill("SIGKILL"))
    const exited = once(child, "exit")
    const order: AgentOrder = { ...place, id: "id", sealed: "the sealed key", minutes: 30 }
    child.stdin.end(JSON.stringify(order))
    expect(String(await once(child.stdout, "data"))).toBe("ready\n")
    expect(await said("find id")).toBe("the sealed key")
    child.kill("SIGUSR2")
    expect(String(await once(child.stdout, "data"))).toBe("moved\n")
    // A connection is enough: the agent looks at its clocks, and does not answer.
    expect(await said("find id").catch(() => "")).toBe("")
    expect(await exited).toEqual([0, null])
    expect(readdirSync(place.folder)).toEqual([])
  })

  test.runIf(isLong)("has the key in no file, argument, environment or memory", async () => {
    await start()
    for (const name of readdirSync(place.folder)) {
      const path = join(place.folder, name)
      expect([name, statSync(path).mode & 0o077]).toEqual([name, 0])
      if (statSync(path).isFile()) expect(readFileSync(path).includes(Buffer.from(key))).toBe(false)
    }
    expect(statSync(place.folder).mode & 0o777).toBe(0o700)
    if (!isLinux) return
    const [pid] = agents()
    for (const name of ["cmdline", "environ"]) {
      const said = readFileSync(`/proc/${pid}/${name}`)
      expect(said.includes(Buffer.from(key))).toBe(false)
      expect(said.toString()).not.toMatch(/SIGNET_/)
    }
    const found = memoryHas(Number(pid), [await said("find id"), Buffer.from(key).toString("latin1")])
    if (found === undefined) console.log("skipped: the memory of another process is not readable here")
    else expect(found).toEqual([true, false])
  })

  test.skipIf(!isLinux)(
    "that is killed leaves nothing usable: the next command prompts, and starts another",
    async () => {
      await start()
      for (const pid of agents()) process.kill(pid, "SIGKILL")
      await vi.waitFor(() => expect(agents()).toEqual([]), { timeout: 30_000 })
      expect(existsSync(place.socket)).toBe(true)
      expect(await held()).toBe("")
      await start()
      expect(await held()).toBe(keyText)
    },
  )

  test.skipIf(!isLinux || !isLong)(
    "ends when its socket is removed or replaced, because a lock could not reach it",
    async () => {
      await start()
      renameSync(place.socket, `${place.socket}.old`)
      await vi.waitFor(() => expect(agents()).toEqual([]), { timeout: 30_000, interval: 100 })
    },
  )

  test.skipIf(!isLinux)("does not run without input", async () => {
    await expect(startAgent(place, { program: "/dev/null", id: "x", key, minutes: 1 })).rejects.toThrow(
      "does not start",
    )
    expect(agents()).toEqual([])
  })
})

describe("another user's access", () => {
  const refused = { reason: "UNLOCK_FOLDER_OPEN", exitCode: 10 }

  test.each<[string, () => void]>([
    ["may list the folder", () => chmodSync(place.folder, 0o755)],
    ["may write to the folder", () => chmodSync(place.folder, 0o770)],
    ["may connect to the socket", () => chmodSync(place.socket, 0o666)],
    ["may read the wrapping key", () => chmodSync(place.wrap, 0o644)],
    [
      "has replaced the folder by a link",
      () => {
        renameSync(place.folder, `${place.folder}-2`)
        symlinkSync(`${place.folder}-2`, place.folder)
      },
    ],
  ])("another user who %s makes the agent refuse the key", async (_, open) => {
    await start()
    open()
    await expect(findKey(place, "id")).rejects.toMatchObject(refused)
  })

  test.skipIf(process.getuid?.() !== 0)(
    "another user who owns the folder gets no key, and no agent starts",
    async () => {
      mkdirSync(place.folder, { mode: 0o700 })
      chownSync(place.folder, 65_534, 65_534)
      await expect(findKey(place, "id")).rejects.toMatchObject(refused)
      await expect(start()).rejects.toMatchObject(refused)
    },
  )

  test("another user who answers instead of the agent provides no usable key", async () => {
    mkdirSync(place.folder, { mode: 0o700 })
    writeFileSync(place.wrap, new Uint8Array(32), { mode: 0o600 })
    const answers = [Buffer.alloc(60).toString("base64url"), "none", "x".repeat(5_000), ""]
    const server = createServer((socket) => socket.end(`${answers.shift()}\n`))
    await new Promise<void>((resolve) => server.listen(place.socket, resolve))
    chmodSync(place.socket, 0o600)
    for (const _ of [1, 2, 3, 4]) expect(await held()).toBe("")
    server.close()
  })
})

describe("the command", () => {
  beforeEach(makeStore)
  const seal = (cli: ReturnType<typeof signet>) => cli.run("unlock", "--json")

  test.runIf(isLong)("unlocks with the passphrase on standard input, and locks", async () => {
    expect(await signet({ input: `${passphrase}\n` }).run("unlock", "--unlock-minutes", "5", "--json")).toMatchObject({
      code: 0,
      out: expect.stringContaining('"minutes":5'),
      err: "",
    })
    expect(existsSync(place.socket)).toBe(true)
    expect(await signet().run("lock")).toMatchObject({ code: 0, out: "Locked.\n" })
    expect(await signet().run("lock")).toMatchObject({ code: 0, out: "Nothing was unlocked.\n" })
  })

  test.runIf(isLong)("with a wrong passphrase unlocks nothing, and ends no unlock", async () => {
    const wrong = signet({ input: "wrong" })
    expect(await seal(wrong)).toMatchObject({ code: 3, out: "", err: expect.stringContaining("WRONG_PASSPHRASE") })
    expect(existsSync(place.socket)).toBe(false)
    await seal(signet({ env: { SIGNET_PASSPHRASE: passphrase } }))
    expect(await seal(wrong)).toMatchObject({ code: 3 })
    expect(existsSync(place.socket)).toBe(true)
  })

  test("without a store prints how to create one", async () => {
    rmSync(join(home, "passphrase-box"), { recursive: true })
    expect(await seal(signet({ input: passphrase }))).toMatchObject({
      code: 3,
      err: expect.stringContaining("no passphrase store exists"),
    })
  })

  test.each([["-1"], ["481"], ["1.5"], ["long"]])("refuses %j minutes, and names the range", async (minutes) => {
    const env = { SIGNET_UNLOCK_MINUTES: minutes }
    expect(await signet({ env, input: passphrase }).run("unlock")).toMatchObject({
      code: 2,
      err: expect.stringContaining("from 0 to 480"),
    })
    expect(await signet().run("unlock", `--unlock-minutes=${minutes}`)).toMatchObject({
      code: 2,
      err: expect.stringContaining("from 0 to 480"),
    })
  })

  test.skipIf(!isLinux || !isLong)("twice at once starts one agent, and leaves one that a lock reaches", async () => {
    const both = [1, 2].map(() => seal(signet({ env: { SIGNET_PASSPHRASE: passphrase } })))
    for (const { code } of await Promise.all(both)) expect(code).toBe(0)
    await vi.waitFor(() => expect(agents()).toHaveLength(1), { timeout: 30_000, interval: 100 })
    await signet().run("lock")
    await vi.waitFor(() => expect(agents()).toEqual([]), { timeout: 30_000 })
  })
})

/** Whether the process's writable memory contains each of these; undefined if the system denies access. */
function memoryHas(pid: number, wanted: readonly string[]): boolean[] | undefined {
  let memory: number
  try {
    memory = openSync(`/proc/${pid}/mem`, "r")
  } catch {
    return undefined
  }
  const found = wanted.map(() => false)
  for (const [, from = "", to = ""] of readFileSync(`/proc/${pid}/maps`, "utf8").matchAll(/^(\w+)-(\w+) rw/gm)) {
    const [start, end] = [Number.parseInt(from, 16), Number.parseInt(to, 16)]
    for (let at = start; at < end; at += 1 << 20) {
      const chunk = Buffer.alloc(Math.min((1 << 20) + 256, end - at))
      try {
        readSync(memory, chunk, 0, chunk.length, at)
      } catch {
        continue
      }
      for (const [i, text] of wanted.entries()) found[i] ||= chunk.includes(text, 0, "latin1")
    }
  }
  closeSync(memory)
  return found
}

/** The agent's answer on its socket. */
function said(request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ""
    const socket = connect(place.socket, () => socket.write(`${request}\n`))
    socket.on("data", (chunk) => {
      text += String(chunk)
    })
    socket.on("error", reject).on("close", () => resolve(text.trimEnd()))
  })
}
