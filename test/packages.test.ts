// The packages as they are published: built, packed, installed into empty folders from a registry, and run there.
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, dirname, join, resolve } from "node:path"
import { gzipSync } from "node:zlib"
import { build } from "esbuild"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { buildPackages, packPackages } from "../scripts/build-packages.ts"
import { workerFolder } from "../scripts/console/messenger-worker.ts"
import { allowedPort, readNextPage } from "./packages/next-page.ts"
import { others } from "./packages/others.ts"
import { entry, maxKilobytes, messengerEntry } from "./packages/pages.ts"
import { install, type ProjectOptions, run, start, succeed } from "./packages/project.ts"
import { callsOf, consoleOf, type InstalledServer, startInstalled, tokenFor } from "./packages/signet.ts"
import { chromiumMissing, launchChromium } from "./support/chromium.ts"
import { effort } from "./support/effort.ts"
import { reactNativeSources } from "./support/native/react-native.ts"

const libraries = ["proto", "canonical", "guard", "client", "client-web", "client-node"].map(
  (name) => `@signet/${name}`,
)
const guard = ["@signet/guard", "@signet/proto"]

/** The oldest of each line that the manifests of libraries and the command allow, and this one. */
const versions = { "20": "20.19.0", "22": "22.18.0", "24": process.versions.node } as const
type Line = keyof typeof versions
const lines: readonly Line[] = ["20", "22", "24"]
const hasOldNodes = process.platform === "linux" && (process.arch === "x64" || process.arch === "arm64")

const isBuilt = effort(false, true, true)

describe.skipIf(!isBuilt)(`the published packages${isBuilt ? "" : " (skipped: npm run test:long builds them)"}`, () => {
  let root: string
  let tarballs: ReadonlyMap<string, string>
  let signet: InstalledServer
  let tokens: { own: string; others: string }
  const folders = new Map<string, string>()
  const at = (name: string): string => folders.get(name) ?? name
  const nodeOf = (line: Line): string =>
    line === "24" ? process.execPath : join(at("nodes"), `node_modules/node${line}/bin/node`)

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), "signet-packages-"))
    tarballs = packPackages(await buildPackages(join(root, "built")), root)
    const oldNode = (line: Line) => `npm:node-linux-${process.arch}@${versions[line]}`
    const projects: readonly ProjectOptions[] = [
      { name: "server", ours: ["@signet/server", "@signet/cli"] },
      { name: "nodes", ours: [], others: hasOldNodes ? { node20: oldNode("20"), node22: oldNode("22") } : {} },
      { name: "libraries", ours: libraries, others: others.compilers },
      { name: "express", files: "express", ours: guard, others: others.express },
      { name: "fastify", files: "fastify", ours: guard, others: others.fastify },
      { name: "hono", files: "hono", ours: guard, others: others.hono },
      { name: "esm", files: "esm", ours: guard },
      { name: "cjs", files: "cjs", ours: libraries },
      { name: "messenger", files: "messenger", ours: ["@signet/client-node", "@signet/proto"] },
      { name: "vite", files: "vite", ours: ["@signet/client-web", "@signet/proto"], others: others.vite },
      { name: "next", files: "next", ours: ["@signet/client-web", "@signet/react", ...guard], others: others.next },
      { name: "types", files: "types", ours: guard, others: others.types },
      {
        ...{ name: "react-native", ours: ["@signet/client-react-native", "@signet/proto"] },
        others: others.reactNative,
      },
    ]
    const waiting = [...projects]
    const installer = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        folders.set(next.name, await install(root, tarballs, next))
      }
    }
    await Promise.all([installer(), installer(), installer()])
    signet = await startInstalled(at("server"))
    tokens = { own: await tokenFor(signet.url, "svc-notes"), others: await tokenFor(signet.url, "auth") }
  }, 900_000)
  afterAll(async () => {
    await signet?.stop()
    if (root !== undefined) await rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 500 })
  }, 900_000)

  /** The entry, and what it loads at once: a page loads other modules on demand. */
  const bundle = async (contents: string, platform: "browser" | "node" = "browser") => {
    const { outputFiles, metafile } = await build({
      stdin: { contents, resolveDir: at("libraries") },
      ...{ bundle: true, splitting: true, outdir: "/page", metafile: true },
      minify: true,
      write: false,
      format: "esm",
      platform,
      target: "es2022",
      logLevel: "silent",
    })
    const outputs = Object.entries(metafile.outputs)
    const loaded = (name: string | undefined): string[] => {
      const imports = outputs.find(([path]) => path === name)?.[1].imports ?? []
      return imports.flatMap(({ kind, path }) => (kind === "import-statement" ? [path, ...loaded(path)] : []))
    }
    const [entry] = outputs.find(([, { entryPoint }]) => entryPoint === "<stdin>") ?? []
    const wanted = [entry, ...new Set(loaded(entry))]
    const texts = wanted.map((name) => outputFiles.find(({ path }) => path.endsWith(`/${basename(name ?? "")}`))?.text)
    return texts.join("\n")
  }

  /** What the core in a Worker says of a service that is not there. */
  const coreAnswer = "SignetError UNREACHABLE"

  /** The text of a page that opens a messenger in a Worker; without Chromium, as if it did. */
  async function textOfCore(url: string): Promise<string> {
    if (chromiumMissing !== undefined) return coreAnswer
    const browser = await launchChromium()
    try {
      const page = await browser.newPage()
      await page.goto(`${url}/?core`)
      return (
        (await page
          .getByText(/Error /)
          .first()
          .textContent({ timeout: 60_000 })) ?? ""
      )
    } finally {
      await browser.close()
    }
  }

  const compiles = async (folder: string): Promise<void> => {
    for (const compiler of ["typescript", "typescript5"]) {
      const ran = await run(folder, process.execPath, [`node_modules/${compiler}/bin/tsc`, "-p", "."])
      expect(ran, compiler).toMatchObject({ code: 0, stdout: "" })
    }
  }

  test.each([
    ["the identity client and one service", entry, maxKilobytes.identity],
    ["the messenger, too", messengerEntry, maxKilobytes.messenger],
  ])("a page with %s is within its size limit", async (name, contents, most) => {
    const kilobytes = gzipSync(await bundle(contents), { level: 9 }).length / 1_000
    console.log(`a page with ${name}: ${kilobytes.toFixed(1)} KB`)
    expect(kilobytes).toBeLessThanOrEqual(most)
  })

  test("the files of the messenger's Worker are within their size limit", () => {
    const folder = join(root, "built/@signet/client-web/esm", workerFolder)
    const kilobytesOf = (...names: string[]) =>
      names.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name)), { level: 9 }).length, 0) / 1_000
    const [script, core] = [kilobytesOf("worker.js"), kilobytesOf("engine.wasm", "core.bin")]
    console.log(`the messenger's Worker: ${script.toFixed(1)} KB, and its engine and core: ${core.toFixed(1)} KB`)
    expect(script).toBeLessThanOrEqual(maxKilobytes.worker)
    expect(core).toBeLessThanOrEqual(maxKilobytes.core)
  })

  test.each([
    ["@signet/client-web", entry],
    ["@signet/client-web/messaging", messengerEntry],
  ])("a page with all of %s contains no module of Node", async (name, contents) => {
    const whole = await bundle(`${contents}; import * as all from "${name}"; console.log(all)`)
    // protobuf-es asks for a setting where there is a process to have one, and ts-mls for a Buffer where there is one.
    const script = whole
      .replaceAll(/typeof process!="object"\|\|typeof process\.env!="object"\|\|process\.env\.BUF_BIGINT_DISABLE/g, "")
      .replaceAll(/typeof Buffer<"u"\)return (Uint8Array\.from\()?Buffer\.from\(/g, "")
    expect(script.match(/["']node:|\brequire\(|\bprocess\.|\bBuffer\b|__dirname/g)).toBeNull()
  })

  test("resolve only on the platforms that they support", async () => {
    await expect(bundle('import "@signet/client-node"')).rejects.toThrow(/Could not resolve|not exported|conditions/)
  })

  test("have one version, an engine, a licence, a page with an installation, and no dead link", () => {
    for (const name of tarballs.keys()) {
      const folder = join(root, "built", name)
      const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
      const page = readFileSync(join(folder, "README.md"), "utf8")
      expect(manifest, name).toMatchObject({ version: "0.1.0", license: "Apache-2.0", engines: { node: /^>=\d/ } })
      expect(manifest.description, name).toMatch(/\.$/)
      expect(page, name).toMatch(new RegExp(`npm i (-g )?${name}\\b`))
      expect(Object.keys(manifest.exports).filter((key) => key.includes("*"))).toEqual([])
      // Adapters take a framework's objects by what they look like, so no installation can lack one.
      const needed: Record<string, string> = {
        "@signet/react": "react",
        "@signet/client-react-native": "react-native",
      }
      const peers = Object.keys(manifest.peerDependencies ?? {})
      expect(peers, name).toEqual(name in needed ? [needed[name]] : [])
      const links = [...page.matchAll(/\]\(([^)\s]+)\)/g)].map(([, to = ""]) => to)
      expect(links.filter((to) => !/^(https?:|#)/.test(to) && !existsSync(join(folder, to)))).toEqual([])
      expect(existsSync(join(folder, "LICENSE"))).toBe(true)
    }
  })

  test("import no file of another package, and each script has a source map", () => {
    const folder = join(root, "built/@signet")
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      /\.(js|d\.ts)$/.test(name),
    )
    expect(files.length).toBeGreaterThan(1_000)
    const wrong = files.flatMap((name) => {
      const [of = ""] = name.split("/")
      const text = readFileSync(join(folder, name), "utf8")
      // The console's pages are bundles for browsers, which load no map.
      const isOurs = /\/(esm|cjs|dist)\//.test(name) && !/\/vendor\/|\/console\/built\//.test(name)
      const noMap =
        isOurs && name.endsWith(".js") && !existsSync(join(folder, `${name}.map`)) ? [`${name}: no map`] : []
      const found = text.matchAll(/(?:\bfrom |\bimport |\bimport\(|\brequire\()"(\.[^"]+)"/g)
      const missing = [...found].flatMap(([, specifier = ""]) => {
        const path = resolve(folder, dirname(name), specifier)
        const target = name.endsWith(".d.ts") ? path.replace(/\.js$/, ".d.ts") : path
        return existsSync(target) && target.startsWith(join(folder, of)) ? [] : [`${name}: ${specifier}`]
      })
      return [...noMap, ...missing]
    })
    expect(wrong).toEqual([])
  })

  test("have types that TypeScript 5 and 7 accept in strict projects, by import and by require", async () => {
    const names = libraries.flatMap((name) => {
      const { exports } = JSON.parse(readFileSync(join(root, "built", name, "package.json"), "utf8"))
      return Object.keys(exports).flatMap((key) => (key.endsWith(".json") ? [] : [`${name}${key.slice(1)}`]))
    })
    const text = [
      ...names.map((name, i) => `import * as m${i} from "${name}"`),
      `export const all = [${names.map((_, i) => `m${i}`).join(", ")}]`,
    ].join("\n")
    const folder = at("libraries")
    for (const file of ["all.mts", "all.cts"]) writeFileSync(join(folder, file), text)
    writeFileSync(join(folder, "page.mts"), entry)
    writeFileSync(join(folder, "messages.mts"), messengerEntry)
    const compilerOptions = {
      ...{ strict: true, noEmit: true, module: "nodenext", target: "es2023", types: ["node"], skipLibCheck: false },
      lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable", "esnext.disposable"],
    }
    const files = ["all.mts", "all.cts", "page.mts", "messages.mts"]
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }))
    await compiles(folder)
  })

  test("an app of React Native finds the native module, and compiles against React Native's types", async () => {
    const folder = at("react-native")
    const from = reactNativeSources()
    const into = join(folder, "node_modules/react-native")
    for (const path of ["package.json", "types", "Libraries"]) {
      cpSync(join(from, path), join(into, path), {
        recursive: true,
        filter: (name) => statSync(name).isDirectory() || /\.(d\.ts|json)$/.test(name),
      })
    }
    const module = join(folder, "node_modules/@signet/client-react-native")
    const { codegenConfig } = JSON.parse(readFileSync(join(module, "package.json"), "utf8"))
    expect(codegenConfig).toMatchObject({ name: "SignetSpec", type: "modules", jsSrcsDir: "spec" })
    const paths = ["cpp/SignetModule.h", "android/CMakeLists.txt", "android/build.gradle", "ios/SignetPlatform.mm"]
    const others = ["SignetReactNative.podspec", "android/src/main/AndroidManifest.xml", "spec/NativeSignet.ts"]
    expect([...paths, ...others].filter((path) => !existsSync(join(module, path)))).toEqual([])
    // As the command line of React Native loads it.
    const load = `console.log(require("${module}/react-native.config.js").dependency.platforms.android.cxxModuleHeaderName)`
    expect(await succeed(folder, nodeOf("20"), ["-e", load])).toBe("SignetModule\n")

    const page = readFileSync(join(module, "README.md"), "utf8")
    writeFileSync(join(folder, "app.ts"), /^```ts\n(.*?)^```$/ms.exec(page)?.[1] ?? "")
    const compilerOptions = {
      ...{ strict: true, noEmit: true, target: "esnext", module: "esnext", moduleResolution: "bundler" },
      ...{ lib: ["es2023"], types: ["react-native"], skipLibCheck: true, allowImportingTsExtensions: true },
    }
    const files = ["app.ts", "node_modules/@signet/client-react-native/spec/NativeSignet.ts"]
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }))
    await compiles(folder)
    writeFileSync(
      join(folder, "app.ts"),
      'import { openSignet } from "@signet/client-react-native"\nopenSignet({ appId: 1 })',
    )
    const { code, stdout } = await run(folder, process.execPath, ["node_modules/typescript/bin/tsc", "-p", "."])
    expect([code === 0, stdout]).toEqual([false, expect.stringContaining("app.ts(2,")])
  })

  test("fit a strict service with the types of Express, Fastify, Hono and Connect, by import and by require", async () => {
    const folder = at("types")
    const source = readFileSync(join(folder, "service.ts"), "utf8")
    writeFileSync(
      join(folder, "service.cts"),
      source.replaceAll(/^import (express|fastify) from ("\w+")/gm, "import $1 = require($2)"),
    )
    const page = readFileSync(join(root, "built/@signet/guard/README.md"), "utf8")
    writeFileSync(join(folder, "readme.ts"), /^```ts\n(.*?)^```$/ms.exec(page)?.[1] ?? "")
    const compilerOptions = {
      ...{ strict: true, noEmit: true, module: "nodenext", target: "es2023", types: ["node"], skipLibCheck: true },
      ...{ lib: ["es2023", "dom", "esnext.disposable"], esModuleInterop: true },
    }
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions, files: ["service.ts", "service.cts", "readme.ts"] }),
    )
    await compiles(folder)
  })

  const services = [
    ["Express", "express", "service.mjs"],
    ["Fastify, by require", "fastify", "service.cjs"],
    ["Hono", "hono", "service.mjs"],
    ["a plain ES module", "esm", "service.mjs"],
    ["plain CommonJS, with the ES modules in the same process", "cjs", "service.cjs"],
  ] as const
  const allowed = { own: { status: 200, of: expect.stringMatching(/^prn_/) } }
  const refused = {
    others: { status: 401, reason: "AUDIENCE_MISMATCH" },
    none: { status: 401, reason: "NO_CREDENTIAL" },
  }

  describe.each(lines)("on Node %s", (line) => {
    const isSkipped = line !== "24" && !hasOldNodes
    test.skipIf(isSkipped).each(services)("the guard protects a service in %s", async (_, name, file) => {
      const node = nodeOf(line)
      // Without this, a Node that can require ES modules would hide that there is no CommonJS.
      const flags = file.endsWith(".cjs") ? ["--no-experimental-require-module"] : []
      const service = await start(at(name), [...flags, file], /listening on (\d+)/, { node, ISSUER: signet.url })
      try {
        expect(await succeed(at(name), node, ["--version"])).toContain(`v${versions[line]}`)
        const calls = await callsOf(`http://127.0.0.1:${service.match[1]}/notes`, tokens)
        expect(calls).toMatchObject({ ...allowed, ...refused })
      } finally {
        await service.stop()
      }
    })

    test.skipIf(isSkipped)("two people sign in and write to each other", async () => {
      const args = ["program.mjs", signet.url, signet.rootKey, join(root, `of-${line}`), `ada-${line}`, `bob-${line}`]
      const said = await succeed(at("messenger"), nodeOf(line), args, { node: nodeOf(line) })
      expect(said).toMatch(/prn_\w+ \d+\n[\s\S]*prn_\w+ \d+\n[\s\S]*hello from a package\n/)
      const noSqlite =
        "Node 20.19.0 has no node:sqlite: use Node 22.13 or later, or openFolderStore, which needs no library"
      expect(said.includes(noSqlite)).toBe(line === "20")
    })
  })

  test("the installed server has the console built in, and browsers keep its hashed files", async () => {
    const { page, script, asset, caching } = await consoleOf(signet.url)
    expect(page).toEqual({ status: 200, policy: expect.stringContaining("frame-ancestors 'none'") })
    expect(script).toMatch(/^main-[A-Z0-9]{8}\.js$/)
    expect(asset).toEqual({ status: 200, bytes: expect.toSatisfy((bytes: number) => bytes > 0) })
    expect(caching).toBe("public, max-age=31536000, immutable")
    // Built ahead: nothing of the package builds pages.
    const built = readdirSync(join(at("server"), "node_modules/@signet/server"), { recursive: true, encoding: "utf8" })
    expect(built.filter((name) => name.endsWith(`/built/${script}`))).toHaveLength(1)
  })

  test("a page of Vite and TypeScript builds, without warnings", async () => {
    const folder = at("vite")
    await succeed(folder, "npx", ["tsc", "-p", "."])
    expect(await succeed(folder, "npx", ["vite", "build"])).not.toMatch(/externalized|warning/i)
    const scripts = readdirSync(join(folder, "dist/assets")).filter((name) => name.endsWith(".js"))
    const texts = scripts.map((name) => readFileSync(join(folder, "dist/assets", name), "utf8"))
    expect(texts.filter((text) => text.includes("LOGGED_OUT"))).not.toEqual([])
    const bin = "node_modules/vite/bin/vite.js"
    const app = await start(folder, [bin, "preview", "--port", "0", "--host", "127.0.0.1"], /127\.0\.0\.1:(\d+)/)
    try {
      expect(await textOfCore(`http://127.0.0.1:${app.match[1]}`)).toContain(coreAnswer)
    } finally {
      await app.stop()
    }
  })

  test("an app of Next builds, starts, shows its page and guards its route", async () => {
    const folder = at("next")
    await succeed(folder, "npx", ["next", "build"], { ISSUER: signet.url })
    const bin = "node_modules/next/dist/bin/next"
    const app = await start(
      folder,
      [bin, "start", "-p", String(await allowedPort()), "-H", "127.0.0.1"],
      /http:\/\/127\.0\.0\.1:(\d+)[\s\S]*Ready/,
      {
        ISSUER: signet.url,
      },
    )
    try {
      const url = `http://127.0.0.1:${app.match[1]}`
      expect(await (await fetch(url)).text()).toContain("notes:")
      expect(await textOfCore(url)).toContain(coreAnswer)
      expect(await callsOf(`${url}/api/notes`, tokens)).toMatchObject({ ...allowed, ...refused })
      // The page with the components, after a sign-in.
      if (chromiumMissing !== undefined) return
      expect(await readNextPage(url, signet.url)).toEqual({
        ...{ signIn: "Sign in with Stand-in", person: "bob@example.com", errors: [] },
        notes: { notes: [], of: expect.stringMatching(/^prn_/) },
      })
    } finally {
      await app.stop()
    }
  }, 600_000)

  test.skipIf(!hasOldNodes).each(["20", "22"] as const)(
    "the programs state in one sentence which Node they need, on Node %s",
    async (line) => {
      const node = nodeOf(line)
      const server = await run(at("server"), node, ["node_modules/@signet/server/bin/signet-server.mjs"], { node })
      const sentence = `signet-server needs Node 24 or newer and this is Node ${versions[line]}: install Node 24 and run it again.\n`
      expect(server).toEqual({ code: 2, stdout: "", stderr: sentence })
      if (line !== "20") return
      const command = await run(at("server"), node, ["node_modules/@signet/cli/bin/signet.mjs", "whoami"], { node })
      expect(command).toMatchObject({
        code: 2,
        stdout: "",
        stderr: expect.stringMatching(/^signet needs Node 22\.18 or newer .*\n$/),
      })
    },
  )

  test("the server lists its commands, and refuses an unknown one", async () => {
    const bin = "node_modules/@signet/server/bin/signet-server.mjs"
    const help = await run(at("server"), process.execPath, [bin, "--help"])
    expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining("signet-server admin") })
    const unknown = await run(at("server"), process.execPath, [bin, "sevre"])
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('has no command "sevre"') })
  })

  test.each(["22", "24"] as const)(
    "the command signs in at the server and shows its user, on Node %s",
    async (line) => {
      const node = nodeOf(line)
      const home = {
        node,
        HOME: join(root, `home-${line}`),
        SIGNET_STORE: "passphrase",
        SIGNET_PASSPHRASE: "of a test",
      }
      const bin = "node_modules/@signet/cli/bin/signet.mjs"
      await succeed(at("server"), node, [bin, "login", "--server", signet.url, "--as", "ada@example.com"], home)
      expect(await succeed(at("server"), node, [bin, "whoami"], home)).toContain("ada@example.com")
    },
  )

  test("the command finds the server that is installed beside it", async () => {
    const folder = at("server")
    const settings = {
      PORT: "0",
      ADMIN_PORT: "0",
      HOME: join(root, "home-of-operator"),
      SIGNET_DATA: join(root, "data"),
    }
    const serve = await start(
      folder,
      ["node_modules/@signet/cli/bin/signet.mjs", "serve"],
      /Signet is ready on (\S+)/,
      settings,
    )
    try {
      expect((await fetch(`${serve.match[1]}/openapi.json`)).status).toBe(200)
    } finally {
      await serve.stop()
    }
  })

  test("a hook of another framework is refused with the name of the right one", async () => {
    const program = `
      import { guardHook } from "@signet/guard/fastify"
      import { createNodeGuard } from "@signet/guard/node"
      const guard = createNodeGuard({ issuer: "https://auth.example", audience: "svc-notes", appId: "app_01kdvdna00edmtevk5ehj6axhg" })
      const hook = guardHook({ guard, requirement: { is: "scope", scope: "notes.read" } })
      await hook({ headers: {} }, { writeHead() {}, end() {} }, () => {}).catch(({ message }) => console.log(message))
    `
    writeFileSync(join(at("esm"), "wrong.mjs"), program)
    expect(await succeed(at("esm"), process.execPath, ["wrong.mjs"])).toContain(
      "use guardMiddleware of @signet/guard/express",
    )
  })
})
