// The chat example of the documentation, run as its page describes: two people in two processes.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { effort } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { startProgram } from "../support/program.ts"

const program = join(import.meta.dirname, "../../docs/examples/chat/main.ts")

interface Chatter {
  readonly child: ChildProcessWithoutNullStreams
  said(): string
}

function chatter(email: string, rootKey: string, url: string, cwd: string): Chatter {
  const child = spawn(process.execPath, [program, email, rootKey, url], { cwd })
  let text = ""
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (more) => (text += more))
  onTestFinished(() => void child.kill())
  return { child, said: () => text }
}

const soon = { timeout: 90_000 }
const idIn = (of: Chatter) => of.said().match(/you are (prn_\w+)/)?.[1] ?? ""

test.skipIf(effort(true, false, false))(
  "two people follow the page, and one of them restarts",
  async () => {
    const folder = mkdtempSync(join(fastTmpdir(), "signet-chat-"))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const server = await startProgram({ PORT: "0", SIGNET_DATA: join(folder, "server") })
    onTestFinished(async () => void (await server.end("SIGTERM")))
    await expect.poll(() => server.output(), soon).toMatch(/pin the root key \S{43}\n/)
    const rootKey = server.output().match(/pin the root key (\S+)/)?.[1] ?? ""

    const ada = chatter("ada@example.com", rootKey, server.url, folder)
    const bob = chatter("bob@example.com", rootKey, server.url, folder)
    for (const one of [ada, bob]) await expect.poll(() => idIn(one), soon).toMatch(/^prn_/)
    ada.child.stdin.write(`${idIn(bob)} hello Bob\n`)
    await expect.poll(() => bob.said(), soon).toContain(`${idIn(ada)}: hello Bob`)
    bob.child.stdin.write(`${idIn(ada)} hello Ada\n`)
    await expect.poll(() => ada.said(), soon).toContain(`${idIn(bob)}: hello Ada`)
    const number = /(\d{5} ){11}\d{5}/
    for (const [one, other] of [
      [ada, bob],
      [bob, ada],
    ] as const) {
      one.child.stdin.write(`${idIn(other)}\n`)
      await expect.poll(() => one.said(), soon).toMatch(number)
    }
    expect(ada.said().match(number)?.[0]).toBe(bob.said().match(number)?.[0])

    bob.child.stdin.end()
    expect(await once(bob.child, "exit")).toEqual([0, null])
    ada.child.stdin.write(`${idIn(bob)} are you there?\n`)
    const again = chatter("bob@example.com", rootKey, server.url, folder)
    await expect.poll(() => again.said(), soon).toContain(`${idIn(ada)}: are you there?`)
    await expect.poll(() => idIn(again), soon).toBe(idIn(bob))
  },
  300_000,
)
