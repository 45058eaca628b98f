// Compares the deployment configuration, the local start and the code.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, expect, test } from "vitest"
import { buckets, compatibility, keyValueNamespaces, objects } from "../node/bindings.ts"
import { type Bundle, buildWorker, bundleFile, maxGzipBytes } from "../node/build.ts"
import { settings } from "./env.ts"

interface Deployed {
  readonly main: string
  readonly compatibility_date: string
  readonly compatibility_flags: readonly string[]
  readonly durable_objects: { readonly bindings: readonly { readonly name: string; readonly class_name: string }[] }
  readonly migrations: readonly { readonly tag: string; readonly new_sqlite_classes: readonly string[] }[]
  readonly kv_namespaces: readonly { readonly binding: string }[]
  readonly r2_buckets: readonly { readonly binding: string }[]
  readonly vars: Readonly<Record<string, string>>
}

const file = join(import.meta.dirname, "../wrangler.jsonc")
const text = readFileSync(file, "utf8")
const deployed: Deployed = JSON.parse(text.replace(/^\s*\/\/.*$/gm, ""))
const classes = Object.values(objects)

let bundle: Bundle
beforeAll(async () => {
  bundle = await buildWorker()
})

test("the deployment binds what the local start binds", () => {
  const bound = deployed.durable_objects.bindings.map(({ name, class_name }) => [name, class_name])
  expect(bound).toEqual(Object.entries(objects))
  expect(deployed.kv_namespaces.map(({ binding }) => binding)).toEqual([...keyValueNamespaces])
  expect(deployed.r2_buckets.map(({ binding }) => binding)).toEqual([...buckets])
  expect(deployed.compatibility_date).toBe(compatibility.date)
  expect(deployed.compatibility_flags).toEqual([...compatibility.flags])
  expect(join(file, "..", deployed.main)).toBe(bundleFile)
})

test("one migration creates every class, with a database of its own", () => {
  const made = deployed.migrations.flatMap((each) => each.new_sqlite_classes)
  expect(made.toSorted()).toEqual(classes.toSorted())
  expect(deployed.migrations.map(({ tag }) => tag)).toEqual(["v1"])
})

test("the code uses exactly these bindings", () => {
  const asked = ["../../store/durable/env.ts", "env.ts"]
    .map((path) => readFileSync(join(import.meta.dirname, path), "utf8"))
    .flatMap((source) => [...source.matchAll(/^ {2}readonly ([A-Z]+): /gm)].map(([, name]) => name))
  expect(asked.toSorted()).toEqual([...Object.keys(objects), ...keyValueNamespaces, ...buckets].toSorted())
})

test("the Worker exports every class that is bound", () => {
  const [, names = ""] = /export\{([^}]*)\};?\s*$/.exec(bundle.code) ?? []
  const exported = names.split(",").map((each) => each.split(" as ").at(-1))
  expect(exported.toSorted()).toEqual([...classes, "default"].toSorted())
})

test("secrets have a name and no value, other settings have a value", () => {
  const secrets = settings.filter(({ isSecret }) => isSecret).map(({ name }) => name)
  const head = text.slice(0, text.indexOf("\n{"))
  expect([...head.matchAll(/\bSIGNET_\w+/g)].map(([name]) => name)).toEqual(secrets)
  const open: readonly string[] = settings.filter(({ isSecret }) => !isSecret).map(({ name }) => name)
  expect(Object.keys(deployed.vars).filter((name) => !open.includes(name))).toEqual([])
  // A setting without a default must have a value.
  const needed = open.filter((name) => ["SIGNET_ISSUER", "SIGNET_ROOT_KEY", "SIGNET_CLIENT_ID"].includes(name))
  expect(needed.filter((name) => !(name in deployed.vars))).toEqual([])
})

test("the bundle is small, and contains nothing that the platform provides or nothing uses", () => {
  console.log(`the Worker: ${bundle.bytes} bytes, ${bundle.gzipBytes} in gzip`)
  expect(bundle.gzipBytes).toBeLessThanOrEqual(maxGzipBytes)
  const parts = Object.keys(bundle.parts)
  expect(parts.filter((path) => /@noble|@bufbuild\/(cel|re2)|protovalidate\/dist\/esm\/(?!gen)/.test(path))).toEqual([])
  expect(parts.some((path) => path.endsWith("/conversation/object.ts"))).toBe(true)
})
