// Folders outside the repository, with the packed packages and pinned packages of others in them, and programs run there.
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { cpSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export type Environment = Readonly<Record<string, string>>

/** What the machine says, such as where its certificates are, and nothing of the test's own settings. */
const machine = Object.entries(process.env).filter(
  ([name]) => !/^(SIGNET_|VITEST|NODE_ENV$|NODE_OPTIONS$|DATABASE_URL$|TEST$|DEV$|PROD$|MODE$|BASE_URL$)/.test(name),
)

/** `node` is first on the path. */
const environment = (node: string, extra: Environment): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(machine),
  PATH: `${dirname(node)}:${process.env.PATH}`,
  NO_COLOR: "1",
  CI: "1",
  NEXT_TELEMETRY_DISABLED: "1",
  ...extra,
})

/** @param node The Node to run with, where it matters. */
export function run(
  cwd: string,
  command: string,
  args: readonly string[],
  { node = process.execPath, ...extra }: { readonly node?: string } & Environment = {},
): Promise<Ran> {
  const options = { cwd, env: environment(node, extra), maxBuffer: 100_000_000 }
  return new Promise((resolve) => {
    execFile(command, [...args], options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    )
  })
}

/** @throws with everything that was said, when it fails. */
export async function succeed(...call: Parameters<typeof run>): Promise<string> {
  const { code, stdout, stderr } = await run(...call)
  if (code !== 0) throw new Error(`${call[1]} ${call[2].join(" ")}: exit code ${code}\n${stdout}\n${stderr}`)
  return stdout + stderr
}

export interface ProjectOptions {
  readonly name: string
  /** Fixture files to copy, or none. */
  readonly files?: string
  /** Names of our packages. */
  readonly ours: readonly string[]
  /** Packages of others, each in one version. */
  readonly others?: Readonly<Record<string, string>>
}

/** Makes a folder with nothing but a manifest and its files, and installs there. */
export async function install(
  within: string,
  tarballs: ReadonlyMap<string, string>,
  { name, files, ours, others = {} }: ProjectOptions,
): Promise<string> {
  const folder = join(within, name)
  mkdirSync(folder, { recursive: true })
  if (files !== undefined) cpSync(join(import.meta.dirname, "projects", files), folder, { recursive: true })
  const dependencies = { ...others, ...Object.fromEntries(ours.map((each) => [each, `file:${tarballs.get(each)}`])) }
  const manifest = { name: `try-${name}`, version: "1.0.0", private: true, type: "module", dependencies }
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2))
  await succeed(folder, "npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"])
  return folder
}

export interface Running {
  readonly process: ChildProcess
  /** What it has said until now. */
  said(): string
  stop(): Promise<void>
}

/** Starts a program and waits until it says what it is to say. */
export async function start(
  cwd: string,
  args: readonly string[],
  until: RegExp,
  { node = process.execPath, ...extra }: { readonly node?: string } & Environment = {},
): Promise<Running & { readonly match: RegExpExecArray }> {
  const child = spawn(node, [...args], { cwd, env: environment(node, extra), stdio: ["ignore", "pipe", "pipe"] })
  let said = ""
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
  const match = await new Promise<RegExpExecArray>((resolve, reject) => {
    const hear = (text: string) => {
      said += text
      const found = until.exec(said)
      if (found !== null) resolve(found)
    }
    child.stdout.setEncoding("utf8").on("data", hear)
    child.stderr.setEncoding("utf8").on("data", hear)
    child.once("error", reject)
    child.once("close", (code) => reject(new Error(`${args.join(" ")} ended with ${code}:\n${said}`)))
  })
  return {
    process: child,
    match,
    said: () => said,
    async stop() {
      child.kill("SIGTERM")
      await ended
    },
  }
}
