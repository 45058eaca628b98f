// Runs the server's own programs as child processes: the command is a client and contains nothing of the server.
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Cli } from "./cli.ts"
import { secretVariables } from "./environment.ts"
import { CommandError, exitCodes } from "./failure.ts"

export type Entry = "serve" | "admin" | "policy"

const entries: Readonly<Record<Entry, string>> = {
  serve: "node/main.ts",
  admin: "node/admin/main.ts",
  policy: "guard/node/policy.ts",
}

export interface ProgramCall {
  readonly args: readonly string[]
  /** Added to the command's environment. Settings belong here, because others can read command lines. */
  readonly settings?: Readonly<Record<string, string | undefined>>
  /** True to return standard output instead of showing it. */
  readonly isHeard?: boolean
}

/** @returns The exit code, and standard output if requested. */
export async function runServerProgram(
  { env }: Cli,
  entry: Entry,
  { args, settings = {}, isHeard = false }: ProgramCall,
): Promise<{ code: number; output: string }> {
  const secrets: Record<string, undefined> = Object.fromEntries(secretVariables.map((name) => [name, undefined]))
  const child = spawn(process.execPath, [entryFile(entry), ...args], {
    env: {
      ...env,
      ...secrets,
      ...Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)),
    },
    stdio: ["inherit", isHeard ? "pipe" : "inherit", "inherit"],
  })
  let output = ""
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    output += text
  })
  return { code: await ended(child), output }
}

/** The server's file: in its own package if installed, otherwise in the repository. */
function entryFile(entry: Entry): string {
  const installed = installedServer()
  if (installed !== undefined) return join(installed, "dist/server", entries[entry].replace(/\.ts$/, ".js"))
  for (const root of ["../../server/", "../../../server/"]) {
    const file = fileURLToPath(new URL(root + entries[entry], import.meta.url))
    if (existsSync(file)) return file
  }
  throw new CommandError("SERVER_NOT_HERE", exitCodes.usage, "the server's programs are not installed", {
    hint: "Install them: npm i @signet/server",
  })
}

/** The folder of the installed package; undefined if it is missing, or unbuilt as in the repository. */
function installedServer(): string | undefined {
  try {
    const folder = dirname(createRequire(import.meta.url).resolve("@signet/server/package.json"))
    return existsSync(join(folder, "dist")) ? folder : undefined
  } catch {
    return undefined
  }
}

/** Forwards signals and waits: the child decides when it ends, and its exit code is returned. */
function ended(child: ChildProcess): Promise<number> {
  const pass = (signal: NodeJS.Signals) => void child.kill(signal)
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const
  for (const signal of signals) process.on(signal, pass)
  return new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("close", (code) => {
      for (const signal of signals) process.off(signal, pass)
      resolve(code ?? exitCodes.fault)
    })
  })
}
