// The installed command: a program with its own home folder.
import { spawn, spawnSync } from "node:child_process"
import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const entry = join(import.meta.dirname, "../bin/signet.mjs")
/** Starts take half as long with cached compiled code. */
const compiled = join(import.meta.dirname, "../../../node_modules/.cache/signet/compiled")

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Installed {
  /** With `signet` on the path. */
  readonly environment: NodeJS.ProcessEnv
  run(args: readonly string[], options?: { input?: string; env?: NodeJS.ProcessEnv }): Promise<Ran>
  /** Runs a document's script in bash, which stops at the first error. */
  type(script: string, options: { cwd: string; env?: NodeJS.ProcessEnv }): Ran
}

/** @param settings Above all the secret box: the bus of a Secret Service, or SIGNET_STORE. */
export function install(home: string, settings: NodeJS.ProcessEnv): Installed {
  const bin = join(home, "bin")
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, "signet"), `#!/bin/sh\nexec ${process.execPath} ${entry} "$@"\n`)
  chmodSync(join(bin, "signet"), 0o755)
  const environment = {
    HOME: home,
    SIGNET_HOME: join(home, "signet"),
    NODE_COMPILE_CACHE: compiled,
    NO_COLOR: "1",
    TZ: "UTC",
    ...settings,
    PATH: `${bin}:${process.execPath.replace(/\/[^/]*$/, "")}:${process.env.PATH}`,
  }
  return {
    environment,
    run: (args, { input, env = {} } = {}) =>
      new Promise((resolve) => {
        const child = spawn(process.execPath, [entry, ...args], { env: { ...environment, ...env } })
        const output = { stdout: "", stderr: "" }
        for (const name of ["stdout", "stderr"] as const) {
          child[name].setEncoding("utf8").on("data", (text: string) => {
            output[name] += text
          })
        }
        child.stdin.end(input ?? "")
        child.once("close", (code) => resolve({ code, ...output }))
      }),
    type(script, { cwd, env = {} }) {
      const { status, stdout, stderr } = spawnSync("/bin/bash", ["-e", "-o", "pipefail", "-c", script], {
        cwd,
        env: { ...environment, ...env },
        encoding: "utf8",
      })
      return { code: status, stdout, stderr }
    },
  }
}
