import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { Command } from "commander"
import { afterAll, expect, test } from "vitest"
import { fastTmpdir } from "../../test/support/fast-tmpdir.ts"
import { buildProgram } from "./program.ts"
import { fakeCli } from "./testing/fake-cli.ts"

const home = mkdtempSync(join(fastTmpdir(), "signet-cli-"))
afterAll(() => rmSync(home, { recursive: true, force: true }))
const env = { SIGNET_HOME: home }

const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)]
const pathOf = (command: Command): string => (command.parent ? `${pathOf(command.parent)} ${command.name()}` : "signet")

async function helpOf(command: Command): Promise<string> {
  const { out } = await fakeCli({ env }).run(...pathOf(command).split(" ").slice(1), "--help")
  return out
}

test("the help of every command matches its snapshot", async () => {
  const all = everyCommand(await buildProgram(fakeCli({ env }).cli, "0.1.0", [], () => undefined))
  const pages = await Promise.all(all.map(async (command) => `=== ${pathOf(command)}\n${await helpOf(command)}`))
  await expect(pages.join("\n")).toMatchFileSnapshot("testing/help.txt")
})

test("every command has examples of itself", async () => {
  const all = everyCommand(await buildProgram(fakeCli({ env }).cli, "0.1.0", [], () => undefined))
  for (const command of all.filter(({ commands }) => commands.length === 0)) {
    const lines = (await helpOf(command)).match(/^ {2}\$ .*$/gm) ?? []
    expect([pathOf(command), lines.length]).not.toContain(0)
    for (const line of lines) expect(line).toContain(pathOf(command))
  }
})

test("no command accepts a secret as an argument or option", async () => {
  const all = everyCommand(await buildProgram(fakeCli({ env }).cli, "0.1.0", [], () => undefined))
  const takesValue = all.flatMap(({ options }) => options.filter(({ required, optional }) => required || optional))
  expect(
    takesValue.map(({ long }) => long).filter((name) => /secret|password|passphrase|pat$|token$/.test(name ?? "")),
  ).toEqual([])
  const said = await fakeCli({ env }).run("token", "inspect", "eyJhbGciOiJFUzI1NiJ9.e30.AAAA")
  expect([said.code, said.err]).toEqual([2, expect.not.stringContaining("eyJ")])
})

test.each<[string, string[], string]>([
  ["an unknown command", ["tokn"], "(Did you mean token?)"],
  ["an unknown option", ["app", "list", "--all"], "unknown option '--all'"],
  ["an option without its value", ["pat", "create", "--name"], "argument missing"],
  ["a mandatory option that is missing", ["pat", "create", "--name", "x"], "--audience"],
  ["an option that excludes another", ["login", "--pat", "--email", "a@example.com"], "cannot be used with"],
  ["a value outside of the choices", ["login", "--store", "plain"], "Allowed choices are os, passphrase"],
  ["an invalid number", ["app", "list", "--limit", "0"], "integer from 1"],
  ["an invalid time", ["audit", "list", "--since", "yesterday"], "Use a time"],
  ["a width that is none", ["audit", "count", "--every", "often"], "Use a width such as 30m, 24h or 7d"],
  ["an unknown property of a count", ["audit", "count", "--by", "color"], '"color" is no property of a count'],
  ["an unknown profile", ["whoami", "--profile", "work"], 'profile "work" does not exist'],
  ["too much", ["logout", "now"], "too many arguments"],
])("%s is code 2, and with --json a problem in one line", async (_, args, sentence) => {
  const { code, out, err } = await fakeCli({ env }).run(...args)
  expect([code, out]).toEqual([2, ""])
  expect(err).toContain(sentence)
  const json = await fakeCli({ env }).run(...args, "--json")
  expect([json.code, json.out]).toEqual([2, ""])
  expect(json.err.trim().split("\n")).toHaveLength(1)
  expect(JSON.parse(json.err)).toMatchObject({ reason: "USAGE", detail: expect.stringContaining(sentence) })
})

test("a key id may start with a dash", async () => {
  const id = "sac_06enrrq000edm6xx1hjq8s9c9g"
  const { code } = await fakeCli({ env }).run("service-account", "key", "revoke", id, "-zbLsXh8uDCcd-6MNwXF4W")
  expect(code).toBe(3)
  expect((await fakeCli({ env }).run("service-account", "key", "revoke", id, "-a", "-b")).code).toBe(2)
})

test("without a sign-in the exit code is 3, with a hint", async () => {
  for (const args of [["whoami"], ["app", "list"], ["token", "get"], ["logout"]]) {
    const { code, out, err } = await fakeCli({ env }).run(...args)
    expect([code, out]).toEqual([3, ""])
    expect(err).toContain("Sign in: signet login")
  }
})

test("an unreachable server is exit code 10", async () => {
  const { code, err } = await fakeCli({ env }).run("login", "--server", "http://127.0.0.1:1", "--as", "ada@example.com")
  expect([code, err]).toEqual([10, expect.stringContaining("UNREACHABLE")])
})

test("SIGNET_SERVER and --profile exclude each other", async () => {
  const { run } = fakeCli({ env: { SIGNET_HOME: "/none", SIGNET_SERVER: "https://auth.example", SIGNET_PAT: "x" } })
  expect(await run("whoami", "--profile", "work")).toMatchObject({
    code: 2,
    err: expect.stringContaining("SIGNET_SERVER"),
  })
})
