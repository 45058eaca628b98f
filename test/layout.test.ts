import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { describe, expect, test } from "vitest"
import { importGraph, importsOf, importsOnCycles, leadsTo } from "./support/imports.ts"
import { longFunctions } from "./support/long-functions.ts"

// Who may import whom. A folder that is not named here fails, and so does an import that its row does not list.
// Tests may import what they like.
interface Row {
  ours: readonly string[]
  npm: readonly string[]
}
const connect = ["@connectrpc/connect"]
const protobuf = ["@bufbuild/protobuf"]
const layout: Record<string, Row> = {
  "gen/es": { ours: [], npm: [...protobuf, "@bufbuild/protovalidate"] },
  "proto/canonical": { ours: ["gen/es"], npm: [...protobuf, "@noble/curves", "@noble/hashes", "node:"] },
  "proto/canonical/node": { ours: ["proto/canonical"], npm: ["node:"] },
  "server/kernel": { ours: [], npm: [] },
  "server/guard": { ours: ["gen/es", "server/kernel"], npm: [...protobuf, ...connect, "jose"] },
  "server/guard/node": { ours: ["server/guard", "server/guard/policy", "server/kernel"], npm: ["node:"] },
  "server/guard/policy": {
    ours: ["gen/es", "server/guard", "server/kernel"],
    npm: [...protobuf, "yaml"],
  },
  "server/framing": { ours: ["proto/canonical"], npm: ["@noble/hashes"] },
  "server/store/postgres": { ours: ["server/kernel"], npm: ["kysely", "pg", "@electric-sql/pglite", "node:"] },
  // Inside the Workers runtime: its own API, and what it has of Node.
  "server/store/durable": { ours: ["server/kernel"], npm: ["cloudflare:workers", "node:"] },
  "server/wakeups": { ours: ["server/kernel"], npm: ["pg", "node:"] },
  "server/pushes": { ours: ["server/kernel"], npm: ["node:"] },
  "server/blobs": { ours: ["server/kernel"], npm: ["aws4fetch", "node:"] },
  "server/providers": { ours: ["server/kernel"], npm: ["jose"] },
  "server/keys": {
    ours: ["gen/es", "server/kernel", "proto/canonical", "proto/canonical/node"],
    npm: ["jose", "node:"],
  },
  // The protocols: from what arrives to the handler's message, and back.
  "server/serving": {
    ours: ["gen/es", "proto/canonical", "server/kernel", "server/guard", "server/serving/call"],
    npm: [...protobuf, ...connect, "@bufbuild/protovalidate"],
  },
  // What a handler knows of its call.
  "server/serving/call": { ours: ["server/kernel", "server/guard"], npm: [...protobuf, ...connect] },
  "server/rpc": {
    ours: [
      "gen/es",
      "proto/canonical",
      "server/framing",
      "server/kernel",
      "server/guard",
      "server/serving",
      "server/serving/call",
    ],
    npm: [...protobuf, ...connect, "@noble/hashes"],
  },
  // Stand-in providers and the development app. The server loads them only in the development profile.
  "server/development": {
    ours: ["gen/es", "proto/canonical", "proto/canonical/node", "server/kernel", "server/guard"],
    npm: ["fastify", "jose", "oidc-provider", "node:"],
  },
  "server/node": {
    ours: [
      "gen/es",
      "proto/canonical",
      "proto/canonical/node",
      "server/kernel",
      "server/guard",
      "server/guard/node",
      "server/store/postgres",
      "server/wakeups",
      "server/blobs",
      "server/pushes",
      "server/providers",
      "server/keys",
      "server/rpc",
      "server/serving",
      "server/serving/call",
      "server/development",
    ],
    npm: ["*"],
  },
  "server/edge/worker": {
    ours: [
      "gen/es",
      "proto/canonical",
      "proto/canonical/node",
      "server/kernel",
      "server/guard",
      "server/framing",
      "server/keys",
      "server/blobs",
      "server/pushes",
      "server/rpc",
      "server/serving",
      "server/serving/call",
      "server/store/durable",
    ],
    npm: [...protobuf, ...connect, "cloudflare:workers", "node:"],
  },
  // Bundles the Worker and starts it; what it needs of the Worker it has from the bundle.
  "server/edge/node": {
    ours: [
      "gen/es",
      "proto/canonical",
      "proto/canonical/node",
      "server/kernel",
      "server/keys",
      "server/rpc",
      "server/serving",
      "server/serving/call",
      "server/node",
    ],
    npm: ["*"],
  },
  "clients/core": {
    ours: ["gen/es", "proto/canonical"],
    npm: [
      ...[...protobuf, ...connect, "ts-mls", "@noble/curves", "@noble/hashes", "@noble/ciphers", "@hpke/core"],
      "hash-wasm",
    ],
  },
  "clients/web": {
    ours: ["gen/es", "clients/core", "clients/web/messaging/worker"],
    npm: [...protobuf, ...connect, "@connectrpc/connect-web"],
  },
  // The core's host in a Worker.
  "clients/web/messaging/worker": {
    ours: ["gen/es", "clients/core", "clients/web", "clients/native/wasm"],
    npm: [...protobuf, "@noble/hashes"],
  },
  "clients/react-native": { ours: ["gen/es", "clients/core"], npm: [...protobuf, ...connect, "react-native"] },
  // What runs in the embedded engine; its hosts; and the build of both.
  "clients/native/core": { ours: ["gen/es", "proto/canonical", "clients/core"], npm: [...protobuf, ...connect] },
  "clients/native/wasm": { ours: ["gen/es", "clients/core"], npm: protobuf },
  "clients/native/node": {
    ours: ["gen/es", "proto/canonical/node", "clients/core", "clients/node", "clients/native/wasm"],
    npm: [...protobuf, "node:"],
  },
  // The host for Durable Objects has Node's primitives and effects.
  "clients/native/workers": {
    ours: ["gen/es", "clients/core", "clients/node", "clients/native/node", "clients/native/wasm"],
    npm: [...protobuf, "cloudflare:workers", "node:"],
  },
  "clients/native": { ours: ["clients/native/wasm"], npm: ["esbuild", "node:"] },
  // The builds of libraries in Java and in Swift.
  "clients/jvm": { ours: ["clients/native"], npm: ["node:"] },
  "clients/apple": { ours: ["clients/native"], npm: ["node:"] },
  "clients/android": { ours: [], npm: ["node:"] },
  "clients/node": { ours: ["gen/es", "proto/canonical", "proto/canonical/node", "clients/core"], npm: ["*"] },
  "clients/react": { ours: ["gen/es", "clients/web"], npm: [...protobuf, ...connect, "react"] },
  "clients/console": {
    ours: ["gen/es", "clients/web", "clients/react"],
    npm: [
      ...[...protobuf, ...connect, "@connectrpc/connect-query", "@tanstack/react-query"],
      ...["@base-ui/react", "qr", "react", "react-dom"],
    ],
  },
  // The command verifies tokens, and is guarded, with what every service uses. The server's own programs it starts.
  "clients/cli": {
    ours: ["gen/es", "server/guard", "server/kernel", "clients/core", "clients/node"],
    npm: ["*"],
  },
  "docs/examples": {
    ours: ["gen/es", "server/guard", "server/guard/node"],
    npm: [...protobuf, ...connect],
  },
  "docs/examples/chat": { ours: ["clients/node"], npm: ["node:"] },
  scripts: { ours: ["scripts/console", "scripts/openapi", "clients/native"], npm: ["*"] },
  // Builds the console's pages, also for a server that runs in the repository.
  "scripts/console": { ours: ["clients/native"], npm: ["esbuild", "node:"] },
  // The API reference has the codes and statuses that the kernel answers with.
  "scripts/openapi": { ours: ["server/kernel"], npm: [...protobuf, "@bufbuild/protoplugin", "node:"] },
  // What generates the parts of a guard in another language.
  guards: { ours: ["gen/es", "server/kernel"], npm: ["node:"] },
  test: { ours: ["*"], npm: ["*"] },
}

const packages: Record<string, string> = {
  "@signet/proto": "gen/es",
  "@signet/kernel": "server/kernel",
  "@signet/development": "server/development",
  "@signet/guard": "server/guard",
  "@signet/canonical": "proto/canonical",
  "@signet/client": "clients/core",
  "@signet/client-web": "clients/web",
  "@signet/client-node": "clients/node",
  "@signet/client-native": "clients/native",
  "@signet/react": "clients/react",
  "@signet/client-react-native": "clients/react-native",
}

// Imports that close a cycle, type-only ones included. The list may only shrink: without these imports there is no
// cycle, and each of them is still part of one.
const closesCycle: readonly string[] = [
  "server/edge/worker/env.ts -> server/edge/worker/feed/object.ts",
  "server/store/durable/env.ts -> server/store/durable/attachment/object.ts",
  "server/store/durable/env.ts -> server/store/durable/conversation/object.ts",
  "server/store/durable/env.ts -> server/store/durable/device/object.ts",
  "server/store/durable/env.ts -> server/store/durable/name/object.ts",
  "server/store/durable/env.ts -> server/store/durable/place/object.ts",
  "server/store/durable/env.ts -> server/store/durable/user/object.ts",
]

// Functions of more than `mostLines` lines, by file and name. The list may only shrink.
const mostLines = 80
const tooLong: readonly string[] = [
  "server/blobs/s3.ts createS3Blobs",
  "server/edge/worker/issuer-keys.ts createIssuerKeys",
  "server/edge/worker/streams/stream.ts openStream",
  "server/guard/guard.ts createGuard",
  "server/guard/key-set.ts createKeySet",
  "server/guard/mailbox/mailbox.ts createMailbox",
  "server/guard/revocation/feed.ts createRevocationFeed",
  "server/kernel/revocation/revocation-set.ts createRevocationSet",
  "server/keys/issuer-keys.ts createIssuerKeyRing",
  "server/keys/key-ring.ts createKeyRing",
  "server/node/app.ts createApp",
  "server/node/config.ts parseConfig",
  "server/providers/idp-c.ts createIdpC",
  "server/rpc/auth/sign-in/methods.ts signInMethods",
  "server/rpc/messaging/attachment/attachment-service.ts attachmentService",
  "server/rpc/messaging/conversation/conversation-service.ts conversationService",
  "server/rpc/messaging/conversation/subscribe/subscribe.ts subscribe",
  "server/rpc/revocation/feed.ts createRevocationFeed",
  "server/rpc/service-account/service-account-service.ts serviceAccountService",
  "server/rpc/transfer/read.ts recordOf",
  "server/rpc/transfer/records.ts kindOf",
  "server/store/durable/devices.ts durableDevices",
  "server/store/postgres/admin/grants.ts grants",
  "server/store/postgres/admin/principals.ts principals",
  "server/wakeups/bus.ts createPostgresBus",
]

const root = resolve(import.meta.dirname, "..")
const sources = readdirSync(root, { recursive: true, encoding: "utf8" }).filter(
  (path) => /\.tsx?$/.test(path) && !/(^|\/)(node_modules|dist|\.\w+)\//.test(path) && path.includes("/"),
)

/** The longest row that the path is in. */
const rowOf = (path: string): string | undefined =>
  Object.keys(layout)
    .filter((folder) => path.startsWith(`${folder}/`))
    .sort((a, b) => b.length - a.length)[0]

/** The name of the npm package, "node:" for Node's own modules, or one of our folders. */
function targetOf(from: string, specifier: string): { ours: string } | { npm: string } {
  if (specifier.startsWith(".")) {
    const path = relative(root, resolve(root, dirname(from), specifier))
    return { ours: rowOf(path) ?? path }
  }
  if (specifier.startsWith("node:")) return { npm: "node:" }
  const name = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/")
  const folder = packages[name]
  if (folder === undefined) return { npm: name }
  const inside = name === "@signet/proto" ? folder : `${folder}/${specifier.slice(name.length + 1)}`
  return { ours: rowOf(`${inside}/`) ?? folder }
}

function violation(path: string, specifier: string): string | undefined {
  const folder = rowOf(path)
  const row = folder === undefined ? undefined : layout[folder]
  if (folder === undefined || row === undefined) return `${path}: its folder is not in the layout`
  const target = targetOf(path, specifier)
  if ("npm" in target) {
    return row.npm.includes("*") || row.npm.includes(target.npm) ? undefined : `${path} imports ${target.npm}`
  }
  return target.ours === folder || row.ours.includes("*") || row.ours.includes(target.ours)
    ? undefined
    : `${path} imports ${target.ours}`
}

const isTest = (path: string) => /\.test\.ts$|(^|\/)testing\/|\/vectors\//.test(path)
const read = (path: string) => readFileSync(join(root, path), "utf8")

describe("the layout", () => {
  test("has a row for every folder with sources", () => {
    expect(sources.filter((path) => rowOf(path) === undefined)).toEqual([])
  })

  test("allows every import", () => {
    const found = sources
      .filter((path) => !isTest(path))
      .flatMap((path) => importsOf(read(path)).map((specifier) => violation(path, specifier)))
      .filter((sentence) => sentence !== undefined)
    expect(found).toEqual([])
  })

  test("is checked against a file's imports", () => {
    expect(violation("server/kernel/ids.ts", "node:crypto")).toBeDefined()
    expect(violation("server/kernel/ids.ts", "../rpc/deps.ts")).toBeDefined()
    expect(violation("server/rpc/deps.ts", "kysely")).toBeDefined()
    expect(violation("server/rpc/deps.ts", "@signet/guard/node/verify")).toBeDefined()
    expect(violation("server/rpc/deps.ts", "@signet/kernel/ports")).toBeUndefined()
    expect(importsOf(read("server/rpc/deps.ts")).length).toBeGreaterThan(0)
  })

  test("has no import cycle but for those in the list", () => {
    expect(importsOnCycles(importGraph(sources, packages, read), closesCycle)).toEqual([])
  })

  test("lists no import that closes no cycle", () => {
    const graph = importGraph(sources, packages, read)
    const closed = closesCycle.filter((entry) => {
      const [from = "", to = ""] = entry.split(" -> ")
      return !(graph.get(from)?.has(to) && leadsTo(graph, to, from))
    })
    expect(closed).toEqual([])
  })

  test("sees an import cycle", () => {
    const graph = new Map([
      ["a", new Set(["b"])],
      ["b", new Set(["c"])],
      ["c", new Set(["b"])],
    ])
    expect(importsOnCycles(graph)).toEqual(["b -> c", "c -> b"])
    expect(importsOnCycles(graph, ["c -> b"])).toEqual([])
  })

  test("has no function of more than 80 lines in the server and the client core, but for those in the list", () => {
    const measured = sources.filter((path) => /^(server|clients\/core)\//.test(path) && !isTest(path))
    const found = measured.flatMap((path) => longFunctions(read(path), mostLines).map((name) => `${path} ${name}`))
    expect(found.toSorted()).toEqual(tooLong)
  })

  test("sees a long function", () => {
    const body = "\n".repeat(mostLines - 1)
    expect(longFunctions(`const one = () => {${body}}`, mostLines)).toEqual([])
    expect(longFunctions(`const one = () => {${body}\n}`, mostLines)).toEqual(["one"])
    expect(longFunctions(`const all = { async two() {${body}\n} }`, mostLines)).toEqual(["two"])
  })

  test("allows one file of the engine to import the MLS library, by named modules of one version", () => {
    const found = sources.filter(
      (path) =>
        !path.startsWith("test/") && !isTest(path) && importsOf(read(path)).some((s) => /^ts-mls(\/|$)/.test(s)),
    )
    expect(found).toEqual(["clients/core/messaging/engine/ts-mls.ts"])
    const { version } = JSON.parse(read("node_modules/ts-mls/package.json"))
    expect(JSON.parse(read("clients/core/package.json")).dependencies["ts-mls"]).toBe(version)
    expect(version).toBe("1.6.4")
  })

  test("allows protovalidate in tests only: the compiled plans validate in production", () => {
    const found = sources.filter(
      (path) => !path.startsWith("test/") && !isTest(path) && importsOf(read(path)).includes("@bufbuild/protovalidate"),
    )
    expect(found).toEqual([])
  })

  test("allows only settings and commands to read the environment", () => {
    const found = sources.filter(
      (path) => /^(server|clients|proto)\//.test(path) && !isTest(path) && read(path).includes("process.env"),
    )
    expect(found.filter((path) => !/\/(config|main)\.ts$|^clients\/cli\//.test(path))).toEqual([])
  })

  test("keeps client-only formats out of the server", () => {
    const found = sources.filter(
      (path) => path.startsWith("server/") && importsOf(read(path)).some((s) => s.startsWith("@signet/proto/client/")),
    )
    expect(found).toEqual([])
  })
})

test("a test names the reason of a rejection", () => {
  const nameless = sources.filter((path) => isTest(path) && /\.rejects\s*\.toThrow(Error)?\(\)/.test(read(path)))
  expect(nameless).toEqual([])
})
