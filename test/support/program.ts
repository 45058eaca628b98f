// The real program in a separate process, as npm start runs it.
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"

export interface RunningProgram {
  readonly url: string
  readonly pid: number
  /** All of its standard output and standard error. */
  output(): string
  /** Sends the signal and waits for the end. @returns The exit code; null if the signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>
}

export interface Refusal {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

type Settings = Readonly<Record<string, string>>

const main = join(import.meta.dirname, "../../server/node/main.ts")
/** The compile cache halves the start time. */
const compiled = join(import.meta.dirname, "../../node_modules/.cache/signet/compiled")

function start(
  settings: Settings,
  script: string,
  wrapper: readonly string[] = [],
): { child: ChildProcess; stdout: () => string; stderr: () => string } {
  // Without the tests' own environment, which may contain a database URL.
  const { PATH = "", HOME = "" } = process.env
  const [command = process.execPath, ...args] = [...wrapper, process.execPath, script]
  const child = spawn(command, args, {
    env: { PATH, HOME, NODE_COMPILE_CACHE: compiled, ADMIN_PORT: "0", SIGNET_WORKERS: "1", ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  })
  const said = { stdout: "", stderr: "" }
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
      said[name] += text
    })
  }
  return { child, stdout: () => said.stdout, stderr: () => said.stderr }
}

/**
 * Starts a program that must serve. Rejects if it exits.
 *
 * @param script Default: this repository's server.
 * @param wrapper A command that replaces itself by the program.
 */
export async function startProgram(
  settings: Settings,
  script = main,
  wrapper: readonly string[] = [],
): Promise<RunningProgram> {
  const { child, stdout, stderr } = start(settings, script, wrapper)
  const output = () => stdout() + stderr()
  const ended = once(child, "close")
  const ready = new Promise<string>((resolve) => {
    child.stdout?.on("data", () => {
      const line = stdout()
        .split("\n")
        .find((text) => text.includes('"msg":"ready"') && text.endsWith("}"))
      if (line !== undefined) resolve(new URL(String(JSON.parse(line).url)).origin)
    })
  })
  const url = await Promise.race([ready, ended.then(() => undefined)])
  if (url === undefined) throw new Error(`the program ended with ${child.exitCode}: ${output()}`)
  return {
    url,
    pid: child.pid ?? 0,
    output,
    async end(signal) {
      child.kill(signal)
      await ended
      return child.exitCode
    },
  }
}

/** The output of a program that must not start. If it starts, it is killed after thirty seconds. */
export async function refusedProgram(settings: Settings): Promise<Refusal> {
  const { child, stdout, stderr } = start(settings, main)
  const timer = setTimeout(() => child.kill("SIGKILL"), 30_000)
  await once(child, "close")
  clearTimeout(timer)
  return { code: child.exitCode, stdout: stdout(), stderr: stderr() }
}
