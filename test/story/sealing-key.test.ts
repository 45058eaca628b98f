// The sealing key rotates by the steps of docs/how-to/rotate-secrets.md, with real servers and the operator's commands.

import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { isLong } from "../support/effort.ts"
import { createTestDatabase, describeOnPostgres } from "../support/postgres.ts"
import { type RunningProgram, refusedProgram, startProgram } from "../support/program.ts"

vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 })

const root = join(import.meta.dirname, "../..")
const page = readFileSync(join(root, "docs/how-to/rotate-secrets.md"), "utf8")
const steps = page.slice(page.indexOf("## The sealing key"), page.indexOf("## Keys of messaging"))
/** The operator's commands of the page, in order. */
const commands = [...steps.matchAll(/^ *npm run admin -- (.*)$/gm)].map(([, said = ""]) => said)

const base64 = (fill: number) => Buffer.alloc(32, fill).toString("base64")
const [oldKey, newKey] = [base64(11), base64(12)]

describeOnPostgres("a rotation of the sealing key, as the page says", () => {
  let database: { url: string; drop(): Promise<void> }
  const running: RunningProgram[] = []
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(async () => {
    for (const program of running) await program.end("SIGTERM")
    await database?.drop()
  })

  const settings = (keys: Record<string, string>) => ({
    SIGNET_PROFILE: "production",
    SIGNET_ISSUER: "https://auth.example",
    SIGNET_BLOBS: join(root, "node_modules/.cache/signet/sealing-key-blobs"),
    SIGNET_PEPPERS: `1:${base64(1)}`,
    DATABASE_URL: database.url,
    DATABASE_CONNECTIONS: "4",
    PORT: "0",
    ...keys,
  })
  const start = async (keys: Record<string, string>) => {
    const program = await startProgram(settings(keys))
    running.push(program)
    return program
  }
  const stop = async (...programs: readonly RunningProgram[]) => {
    for (const program of programs) {
      running.splice(running.indexOf(program), 1)
      expect(await program.end("SIGTERM")).toBe(0)
    }
  }
  const admin = async (said: string, keys: Record<string, string>): Promise<Record<string, unknown>> => {
    const { PATH = "", HOME = "" } = process.env
    const args = [join(root, "server/node/admin/main.ts"), ...said.split(" "), "--json"]
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: { PATH, HOME, ...settings(keys) } })
    return JSON.parse(stdout) as Record<string, unknown>
  }

  test.runIf(isLong)("each server signs people in at each step, and the audit verifies after it", async () => {
    expect(commands).toEqual(["keys sealing rotate", "keys sealing finish", "audit verify"])
    const [rotate = "", finish = "", verify = ""] = commands
    const [old, both, only] = [
      { SIGNET_SEALING_KEY: oldKey },
      { SIGNET_SEALING_KEY: oldKey, SIGNET_SEALING_KEY_NEXT: newKey },
      { SIGNET_SEALING_KEY: newKey },
    ]
    let pat = ""
    const serves = async (...programs: readonly RunningProgram[]) => {
      for (const { url } of programs) {
        const body = JSON.stringify({ pat })
        const headers = { "content-type": "application/json" }
        const exchanged = await fetch(`${url}/auth/pats/exchange`, { method: "POST", headers, body })
        expect(exchanged.status).toBe(200)
        const { accessToken } = (await exchanged.json()) as { accessToken: string }
        // Each server accepts each server's token.
        for (const other of programs) {
          const listed = await fetch(`${other.url}/auth/apps`, { headers: { authorization: `Bearer ${accessToken}` } })
          expect(listed.status).toBe(200)
        }
      }
    }

    const first = await start(old)
    pat = String((await admin("create --name Ada", old)).pat)
    await serves(first)
    expect(await admin(verify, old)).toMatchObject({ isWhole: true })

    // Step 1, and its middle.
    const second = await start(both)
    await serves(first, second)
    await expect(admin(rotate, both)).rejects.toThrow("1 running servers do not have the new key")
    await stop(first)
    const third = await start(both)

    // Step 2.
    const [rotated] = await Promise.all([admin(rotate, both), serves(second, third)])
    expect(rotated).toMatchObject({ resealed: expect.any(Number) })
    await serves(second, third)
    expect(await admin(verify, both)).toMatchObject({ isWhole: true })

    // Step 3, and its middle.
    const fourth = await start(only)
    await serves(second, third, fourth)
    await expect(admin(finish, only)).rejects.toThrow("2 running servers still use the previous key")
    await stop(second, third)

    // Step 4.
    await admin(finish, only)
    expect(await admin(verify, only)).toMatchObject({ isWhole: true })
    await serves(fourth)
    expect(await admin(verify, only)).toMatchObject({ isWhole: true })
    for (const keys of [old, both]) {
      const { code, stderr, stdout } = await refusedProgram(settings(keys))
      expect(code).toBe(1)
      expect(stderr).toMatch(/^The sealing key [\w-]{16} is retired: remove it from the settings\.$/m)
      for (const key of [oldKey, newKey]) expect(stdout + stderr).not.toContain(key)
    }
  })
})
