import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { isLong } from "../../../../test/support/effort.ts"
import { buckets, compatibility, keyValueNamespaces, objects } from "../../node/bindings.ts"
import { buildWorker, maxGzipBytes, transferEntry, transferFile } from "../../node/build.ts"

interface Deployed {
  readonly name: string
  readonly main: string
  readonly compatibility_date: string
  readonly compatibility_flags: readonly string[]
  readonly durable_objects: { readonly bindings: readonly object[] }
  readonly migrations?: unknown
  readonly kv_namespaces: readonly { readonly binding: string }[]
  readonly r2_buckets: readonly { readonly binding: string }[]
}

const folder = join(import.meta.dirname, "../..")
const read = (name: string): Deployed =>
  JSON.parse(readFileSync(join(folder, name), "utf8").replace(/^\s*\/\/.*$/gm, ""))
const deployed = read("wrangler.transfer.jsonc")
const first = read("wrangler.jsonc")

test("the transfer Worker is bound to the first Worker's objects, keys and bucket, and has no class", () => {
  const bound = deployed.durable_objects.bindings
  expect(bound).toEqual(
    Object.entries(objects).map(([name, class_name]) => ({ name, class_name, script_name: first.name })),
  )
  expect(deployed.migrations).toBeUndefined()
  expect(deployed.kv_namespaces.map(({ binding }) => binding)).toEqual([...keyValueNamespaces])
  expect(deployed.r2_buckets).toEqual(first.r2_buckets)
  expect(deployed.r2_buckets.map(({ binding }) => binding)).toEqual([...buckets])
  expect(deployed.compatibility_date).toBe(compatibility.date)
  expect(deployed.compatibility_flags).toEqual([...compatibility.flags])
  expect(join(folder, deployed.main)).toBe(transferFile)
})

test.runIf(isLong)("the transfer Worker is small, and the first Worker does not contain its service", async () => {
  const [own, main] = await Promise.all([buildWorker(transferEntry), buildWorker()])
  expect(own.gzipBytes).toBeLessThanOrEqual(maxGzipBytes)
  expect(Object.keys(own.parts)).toContain("server/rpc/transfer/transfer-service.ts")
  expect(Object.keys(main.parts).filter((path) => path.includes("rpc/transfer/"))).toEqual([])
})
