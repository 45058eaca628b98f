// The packages as they are published: built, packed, installed somewhere else, bundled, and run.
import { execFile, execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { gzipSync } from "node:zlib"
import { build } from "esbuild"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { buildPackages } from "../scripts/build-packages.ts"
import { effort } from "./support/effort.ts"
import { startMessagingServer } from "./support/messaging/test-server.ts"
import { storyStore } from "./support/postgres.ts"

/** Kilobytes of a page that signs in and calls one service, and of one with the messenger, as they travel. */
const maxKilobytes = { identity: 45, messenger: 150 }

const entry = `
import { createClient } from "@connectrpc/connect"
import { configure } from "@signet/client-web"
import { SessionService } from "@signet/proto/auth/v1/session_service"
const signet = configure({ appId: "app_1", authBaseUrl: "https://auth.example", providers: ["IDP_A"] })
console.log(await createClient(SessionService, signet.session.transport()).listSessions({}))
`

const messengerEntry = `
import { configure } from "@signet/client-web"
import { createMessenger, messagingSession } from "@signet/client-web/messaging"
const appId = "app_1"
const signet = configure({ appId, authBaseUrl: "https://auth.example", providers: ["IDP_A"] })
const session = await messagingSession(signet.session, { appId })
const messaging = { baseUrl: "https://messages.example", issuerRootKeys: [new Uint8Array(32)] }
console.log((await createMessenger({ messaging, session })).deviceId)
`

const modules = join(import.meta.dirname, "../node_modules")

/** The folders of what packages need of others, and those of others again. */
function neededBy(folders: readonly string[]): string[] {
  const found = new Set<string>()
  const visit = (folder: string): void => {
    const { dependencies = {} }: { dependencies?: object } = JSON.parse(
      readFileSync(join(folder, "package.json"), "utf8"),
    )
    for (const name of Object.keys(dependencies)) {
      const own = join(modules, name)
      if (name.startsWith("@signet/") || found.has(own)) continue
      found.add(own)
      visit(own)
    }
  }
  for (const folder of folders) visit(folder)
  return [...found]
}

const isBuilt = effort(false, true, true)

describe.skipIf(!isBuilt)(`the published packages${isBuilt ? "" : " (skipped: npm run test:long builds them)"}`, () => {
  let project: string
  const npm = (...args: string[]) =>
    execFileSync("npm", args, { cwd: project, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })
  beforeAll(async () => {
    project = mkdtempSync(join(tmpdir(), "signet-packages-"))
    writeFileSync(
      join(project, "package.json"),
      JSON.stringify({ name: "empty", version: "1.0.0", type: "module", private: true }),
    )
    const folders = [...(await buildPackages(join(project, "built"))).values()]
    // What they need is taken from here: nothing is asked of a registry.
    const packed: { filename: string }[] = JSON.parse(
      npm("pack", "--json", "--ignore-scripts", "--pack-destination", project, ...folders, ...neededBy(folders)),
    )
    const tarballs = packed.map(({ filename }) => join(project, filename))
    npm("install", "--offline", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund", ...tarballs)
  }, 300_000)
  afterAll(() => {
    if (project !== undefined) rmSync(project, { recursive: true, force: true })
  })

  const bundle = async (contents: string, platform: "browser" | "node" = "browser") => {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: project },
      bundle: true,
      minify: true,
      write: false,
      format: "esm",
      platform,
      target: "es2022",
      logLevel: "silent",
    })
    return outputFiles[0]?.text ?? ""
  }

  test.each([
    ["the identity client and one service", entry, maxKilobytes.identity],
    ["the messenger, too", messengerEntry, maxKilobytes.messenger],
  ])("a page with %s is no larger than it should be", async (name, contents, most) => {
    const kilobytes = gzipSync(await bundle(contents), { level: 9 }).length / 1_000
    console.log(`a page with ${name}: ${kilobytes.toFixed(1)} KB`)
    expect(kilobytes).toBeLessThanOrEqual(most)
  })

  test.each([
    ["@signet/client-web", entry],
    ["@signet/client-web/messaging", messengerEntry],
  ])("a page with all of %s has nothing of Node", async (name, contents) => {
    const whole = await bundle(`${contents}; import * as all from "${name}"; console.log(all)`)
    // protobuf-es asks for a setting where there is a process to have one, and ts-mls for a Buffer where there is one.
    const script = whole
      .replaceAll(/typeof process!="object"\|\|typeof process\.env!="object"\|\|process\.env\.BUF_BIGINT_DISABLE/g, "")
      .replaceAll(/typeof Buffer<"u"\)return (Uint8Array\.from\()?Buffer\.from\(/g, "")
    expect(script.match(/["']node:|\brequire\(|\bprocess\.|\bBuffer\b|__dirname/g)).toBeNull()
  })

  test("reach into nobody's files but their own", () => {
    const folder = join(project, "node_modules/@signet")
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      /\.(js|d\.ts)$/.test(name),
    )
    expect(files.length).toBeGreaterThan(200)
    const missing = files.flatMap((name) => {
      const [of = ""] = name.split("/")
      const text = readFileSync(join(folder, name), "utf8")
      return [...text.matchAll(/(?:from|import)\s*\(?"(\.[^"]+)"/g)].flatMap(([, specifier = ""]) => {
        const target = resolve(folder, dirname(name), specifier.replace(/\.ts$/, ".d.ts"))
        return existsSync(target) && target.startsWith(join(folder, of)) ? [] : [`${name}: ${specifier}`]
      })
    })
    expect(missing).toEqual([])
  })

  test("are only found where they run", async () => {
    await expect(bundle('import "@signet/client-node"')).rejects.toThrow(/Could not resolve|not exported|conditions/)
  })

  test("have types that a strict project takes", () => {
    writeFileSync(join(project, "page.ts"), entry)
    writeFileSync(join(project, "messages.ts"), messengerEntry)
    writeFileSync(join(project, "program.ts"), program)
    const common = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2024"]
    const page = ["--lib", "es2024,dom,dom.iterable,dom.asynciterable", "--types", "", "page.ts", "messages.ts"]
    const node = [
      "--lib",
      "es2024,dom,esnext.disposable",
      "--typeRoots",
      join(modules, "@types"),
      "--types",
      "node",
      "program.ts",
    ]
    for (const options of [page, node]) {
      const { stdout } = spawnSync(join(modules, ".bin/tsc"), [...common, ...options], {
        cwd: project,
        encoding: "utf8",
      })
      expect(stdout).toBe("")
    }
  })

  test("sign in and write to each other from an empty project", async () => {
    const server = await startMessagingServer({ store: storyStore })
    try {
      const tokens = await Promise.all(
        ["packed", "packed too"].map(async (subject) => {
          const { credential } = await server.login(subject)
          return credential?.case === "idToken" ? credential.value : ""
        }),
      )
      writeFileSync(join(project, "program.ts"), program)
      const root = Buffer.from(server.issuerRootKey).toString("base64url")
      const arguments_ = ["program.ts", server.url, server.app.id, root, project, ...tokens]
      const said = await new Promise<string>((resolve, reject) =>
        execFile(process.execPath, arguments_, { cwd: project }, (error, stdout, stderr) =>
          error ? reject(new Error(stderr)) : resolve(stdout),
        ),
      )
      expect(said).toMatch(/^prn_\w+ 1\nprn_\w+ 1\nhello from a package\n$/)
      expect(readFileSync(join(project, "package.json"), "utf8")).toContain("@signet/client-node")
    } finally {
      await server.close()
    }
  })
})

const program = `
import { join } from "node:path"
import { argv } from "node:process"
import { createClient } from "@connectrpc/connect"
import { configure, createFileLock, createFileShelf, createPassphraseBox, grpc } from "@signet/client-node"
import { createMessenger, messagingSession, openFolderStore, openSqliteStore } from "@signet/client-node/messaging"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { SessionService } from "@signet/proto/auth/v1/session_service"
const [, , authBaseUrl = "", appId = "", rootKey = "", project = "", ...idTokens] = argv
const [ada, bob] = await Promise.all(idTokens.map(open))
if (ada === undefined || bob === undefined) throw new Error("two of them")
await bob.messenger.sync()
const { id } = await ada.messenger.createDirectConversation(bob.userId)
await ada.messenger.send(id, new TextEncoder().encode("hello from a package"))
await bob.messenger.sync()
for (const entry of await bob.messenger.timeline(id)) {
  if (entry.is === "message") console.log(new TextDecoder().decode(entry.plaintext))
}
for (const one of [ada, bob]) {
  await one.messenger.close()
  one.signet.close()
}

async function open(idToken: string, i: number) {
  const folder = join(project, \`of \${i}\`)
  const box = createPassphraseBox({
    shelf: createFileShelf(join(folder, "box")),
    lock: createFileLock(join(folder, "box-lock")),
    passphrase: async () => "of a test",
  })
  const signet = configure({ appId, authBaseUrl, providers: ["IDP_A"], folder: join(folder, "signet"), box })
  await signet.login({ provider: "IDP_A", nonce: "n-1", credential: { idToken } })
  const { principal } = await createClient(AuthService, signet.session.transport()).me({})
  const { sessions } = await createClient(SessionService, signet.session.transport({ wire: grpc })).listSessions({})
  console.log(principal?.id, sessions.length)
  const session = await messagingSession(signet.session, { appId })
  const messaging = { baseUrl: authBaseUrl, issuerRootKeys: [new Uint8Array(Buffer.from(rootKey, "base64url"))] }
  const store = i === 0 ? openSqliteStore(join(folder, "messages")) : await openFolderStore(join(folder, "messages"))
  return { signet, userId: session.userId, messenger: await createMessenger({ messaging, session, store, secretBox: box }) }
}
`
