// What /docs shows of each operation: a summary, examples that are valid messages, and the errors.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type DescMethod, fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf"
import { createValidator } from "@bufbuild/protovalidate"
import { refusals } from "@signet/kernel/errors"
import { describe, expect, test } from "vitest"
import { services } from "../server/node/routes.ts"

interface Content {
  readonly [mediaType: string]: { readonly example?: JsonObject }
}

interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly description?: string
  readonly tags: readonly [string]
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly example?: JsonValue }[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: { readonly [status: string]: { readonly content?: Content } }
  readonly "x-signet-errors"?: readonly { http: number; code: string; reason: string }[]
}

interface Document {
  readonly info: { readonly description?: string }
  readonly tags: readonly { readonly name: string; readonly description?: string }[]
  readonly paths: { readonly [path: string]: { readonly [verb: string]: Operation } }
}

const root = join(import.meta.dirname, "..")
const document: Document = JSON.parse(readFileSync(join(root, "gen/openapi/openapi.json"), "utf8"))
const methods = new Map<string, DescMethod>(
  services.flatMap((service) => service.methods.map((method) => [`${service.name}_${method.name}`, method] as const)),
)
const operations = Object.values(document.paths)
  .flatMap((item) => Object.values(item))
  .map((operation) => [operation.operationId, operation] as const)
const validator = createValidator()

function methodOf(operation: Operation): DescMethod {
  const method = methods.get(operation.operationId.replace(/_\d+$/, ""))
  if (method === undefined) throw new Error(`${operation.operationId} is no method`)
  return method
}

const exampleOf = (content: Content | undefined): JsonObject | undefined => Object.values(content ?? {})[0]?.example

test("the introduction explains what a caller has to know first", () => {
  const headings = [...(document.info.description ?? "").matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
  expect(headings).toEqual(["Authentication", "Errors", "Paging", "Repeating a call", "The token endpoint", "JSON"])
})

test("the introduction names only reasons that exist, with their status", () => {
  const rows = [...(document.info.description ?? "").matchAll(/^\| ([\d, ]+) \| ([A-Z_, ]+) \| (.+?) \|/gm)]
  expect(rows.length).toBeGreaterThan(5)
  for (const [, statuses = "", codes = "", names = ""] of rows) {
    for (const [, name = ""] of names.matchAll(/`([A-Z_]+)`/g)) {
      const [, refusal] = Object.entries(refusals).find(([reason]) => reason === name) ?? []
      expect(`${name} ${statuses.includes(String(refusal?.status))}`).toBe(`${name} true`)
      expect(`${name} ${codes.includes(String(refusal?.code.toUpperCase()))}`).toBe(`${name} true`)
    }
  }
})

test("every tag has a description", () => {
  expect(document.tags.length).toBeGreaterThan(15)
  expect(document.tags.filter(({ description }) => !description).map(({ name }) => name)).toEqual([])
})

describe("every operation has", () => {
  test.each(operations)("%s: a summary that fits on a line", (_, { summary = "" }) => {
    expect(summary).toMatch(/^[A-Z][^\n]{7,89}$/)
    expect(summary).not.toMatch(/[.:;,]$/)
  })

  test.each(operations)("%s: errors, each with its status and meaning", (_, operation) => {
    const errors = operation["x-signet-errors"] ?? []
    expect(errors.length).toBeGreaterThan(0)
    expect(operation.description).not.toMatch(/Errors.*:/)
    const rows = (operation.description ?? "").split("\n")
    for (const { http, code, reason } of errors) {
      expect(Object.hasOwn(refusals, reason), reason).toBe(true)
      const row = rows.find((line) => line.startsWith(`| ${http} | ${code} | \`${reason}\` |`))
      expect(row?.split(" | ").at(-1), reason).toMatch(/^[A-Z`].{10,} \|$/)
    }
  })

  test.each(operations)("%s: an example of its request that the server accepts", (_, operation) => {
    const { input } = methodOf(operation)
    const parameters = (operation.parameters ?? []).filter(({ in: place }) => place !== "header")
    const withoutExample = parameters.filter((one) => one.in === "path" && one.example === undefined)
    expect(withoutExample).toEqual([])
    if (operation.requestBody !== undefined) expect(exampleOf(operation.requestBody.content)).toBeDefined()
    const given = parameters.flatMap(({ name, example }) => (example === undefined ? [] : [[name, example]]))
    const literal = /\/login\/(idp-[a-z])$/.exec(pathOf(operation))
    const provider = literal?.[1]?.toUpperCase().replace("-", "_")
    const json: JsonObject = {
      ...Object.fromEntries(given),
      ...exampleOf(operation.requestBody?.content),
      ...(provider === undefined ? {} : { provider }),
    }
    const { kind, error, violations } = validator.validate(input, fromJson(input, json))
    expect([kind, error?.message, violations]).toEqual(["valid", undefined, undefined])
  })

  test.each(operations)("%s: an example of its response", (_, operation) => {
    const { output } = methodOf(operation)
    if (output.fields.length === 0) return
    const example = exampleOf(operation.responses["200"]?.content)
    expect(Object.keys(example ?? {}).length).toBeGreaterThan(0)
    fromJson(output, example ?? {})
  })
})

const pathOf = (operation: Operation): string =>
  Object.entries(document.paths).find(([, item]) => Object.values(item).includes(operation))?.[0] ?? ""

test("an id in an example has the prefix that its comment names", () => {
  const examples = operations.map(([, operation]) => exampleOf(operation.responses["200"]?.content))
  const prefixes = { principal: "prn", identity: "idn", session: "ses", app: "app", role: "rol", conversation: "cnv" }
  const found = Object.entries(prefixes).map(([name, prefix]) => {
    const ids = [...JSON.stringify(examples).matchAll(new RegExp(`"${name}":\\{"id":"([^"]+)"`, "g"))].map(
      ([, id]) => id,
    )
    return [name, ids.length > 0 && ids.every((id) => new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`).test(id ?? ""))]
  })
  expect(found).toEqual(Object.keys(prefixes).map((name) => [name, true]))
})

test("no example contains a credential", () => {
  const text = JSON.stringify(document)
  expect(text).not.toMatch(/eyJ[A-Za-z0-9_-]{10}/)
  expect(text).not.toMatch(/sg(pat|sec|rt|inv)_[A-Za-z0-9]{20}/)
})
