import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { fastTmpdir } from "../../test/support/fast-tmpdir.ts"
import { homeOf, parseServer, parseServerIssuer, readProfiles, writeProfiles } from "./profiles.ts"
import { fakeCli } from "./testing/fake-cli.ts"

let home: string
beforeEach(() => {
  home = mkdtempSync(join(fastTmpdir(), "signet-cli-"))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

test.each([
  ["https://auth.example", "https://auth.example"],
  ["https://auth.example/", "https://auth.example"],
  ["https://auth.example:8443", "https://auth.example:8443"],
  ["http://127.0.0.1:8080", "http://127.0.0.1:8080"],
  ["http://localhost:8080", "http://localhost:8080"],
  ["http://[::1]:8080", "http://[::1]:8080"],
])("%s is a server", (text, server) => {
  expect(parseServer(text)).toBe(server)
})

test.each([
  "auth.example",
  "http://auth.example",
  "http://127.0.0.1.example",
  "https://ada:secret@auth.example",
  "https://ada@auth.example",
  "https://:secret@auth.example",
  "https://auth.example/path",
  "https://auth.example/?a=b",
  "https://auth.example/#a",
  "http://localhost.example",
  "http://127.0.0.1.5",
  "ftp://auth.example",
  "",
])("%j is no server", (text) => {
  expect(() => parseServer(text)).toThrow(/server|TLS/)
})

test("profiles are added, selected and removed", async () => {
  const { run } = fakeCli({ env: { SIGNET_HOME: home } })
  await run("profile", "add", "work", "--server", "https://auth.example")
  await run("profile", "add", "play", "--server", "https://play.example")
  expect(JSON.parse((await run("profile", "list", "--json")).out)).toEqual([
    { name: "work", current: false, server: "https://auth.example" },
    { name: "play", current: true, server: "https://play.example" },
  ])
  await run("profile", "use", "work")
  expect(readProfiles(home).current).toBe("work")
  expect((await run("profile", "add", "work", "--server", "https://other.example")).code).toBe(2)
  expect((await run("profile", "remove", "work")).code).toBe(0)
  expect(readProfiles(home)).toMatchObject({ current: "default" })
  expect((await run("profile", "use", "work")).code).toBe(2)
  expect((await run("profile", "add", "../up", "--server", "https://auth.example")).code).toBe(2)
})

test("a profile with a sign-in cannot be removed", async () => {
  writeProfiles(home, { current: "work", all: new Map([["work", { server: "https://auth.example", signIn: "pat" }]]) })
  const { code, err } = await fakeCli({ env: { SIGNET_HOME: home } }).run("profile", "remove", "work")
  expect([code, err]).toEqual([2, expect.stringContaining("signet logout --profile work")])
  expect(readProfiles(home).all.size).toBe(1)
})

test("only its owner can access the file", () => {
  writeProfiles(join(home, "new"), { current: "default", all: new Map() })
  expect(statSync(join(home, "new")).mode & 0o777).toBe(0o700)
  expect(statSync(join(home, "new/profiles.json")).mode & 0o777).toBe(0o600)
})

test.each([
  "",
  "{",
  "[]",
  '{"current":"a","profiles":{"a":{"server":"http://evil.example"}}}',
  '{"current":1,"profiles":{}}',
  '{"current":"a","profiles":[]}',
  '{"current":"a","profiles":{"a":null}}',
  '{"current":"a","profiles":{"a":{}}}',
  '{"current":"a","profiles":{"a":{"server":"https://a.example","appId":1}}}',
  '{"current":"a","profiles":{"a":{"server":"https://a.example","store":"file"}}}',
  '{"current":"a","profiles":{"a":{"server":"https://a.example","signIn":"none"}}}',
  '{"current":"a","profiles":{"a":{"server":"https://a.example","platform":"MAC"}}}',
  '{"current":"a","profiles":{"a":{"server":"https://a.example","browser":{"issuer":"i","clientId":"c"}}}}',
])("an invalid file, %j, is refused and unchanged", async (text) => {
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, "profiles.json"), text)
  const { run } = fakeCli({ env: { SIGNET_HOME: home } })
  for (const args of [["profile", "list"], ["profile", "add", "x", "--server", "https://a.example"], ["whoami"]]) {
    expect((await run(...args)).code).toBe(2)
  }
  expect(readFileSync(join(home, "profiles.json"), "utf8")).toBe(text)
})

test.each<[string, Record<string, string>, string]>([
  ["linux", { HOME: "/home/ada" }, "/home/ada/.config/signet"],
  ["linux", { HOME: "/home/ada", XDG_CONFIG_HOME: "/home/ada/conf" }, "/home/ada/conf/signet"],
  ["darwin", { HOME: "/Users/ada" }, "/Users/ada/.config/signet"],
  ["win32", { APPDATA: "/C/AppData" }, "/C/AppData/signet"],
  ["linux", { SIGNET_HOME: "/elsewhere" }, "/elsewhere"],
])("on %s, %j, it is stored in %s", (platform, env, folder) => {
  expect(homeOf(env, platform)).toBe(folder)
})

test.each<[string, string]>([
  ["https://auth.example", "https://other.example"],
  ["https://127.0.0.1.evil.example", "https://auth.example"],
  ["https://10.0.0.1", "https://auth.example"],
])("a server at %s is refused as %s: its certificate names another host", (server, issuer) => {
  expect(() => parseServerIssuer(issuer, server)).toThrow("--server-issuer is only for a server at a loopback address")
})

test.each(["http://auth.example", "https://auth.example/path", "auth.example"])("%s is no issuer", (issuer) => {
  expect(() => parseServerIssuer(issuer, "http://127.0.0.1:8080")).toThrow(/TLS|path|not a server address/)
})

test("a file with another issuer for a remote server is refused", async () => {
  mkdirSync(home, { recursive: true })
  const profile = { server: "https://evil.example", serverIssuer: "https://auth.example", signIn: "pat" }
  writeFileSync(join(home, "profiles.json"), JSON.stringify({ current: "a", profiles: { a: profile } }))
  expect((await fakeCli({ env: { SIGNET_HOME: home } }).run("whoami")).code).toBe(2)
})
