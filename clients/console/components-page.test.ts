// The documentation page of @signet/react names everything that the package exports.
import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { code, t } from "./text/components.ts"

const folder = new URL("../react/", import.meta.url)

/** The names of the values that a module and the modules that it re-exports export. */
function exportsOf(file: URL): string[] {
  const text = readFileSync(file, "utf8")
  const all = [...text.matchAll(/^export \* from "(.+)"/gm)].flatMap(([, path = ""]) => exportsOf(new URL(path, file)))
  const listed = [...text.matchAll(/^export \{([^}]+)\} from/gm)].flatMap(([, names = ""]) => names.split(","))
  const own = [...text.matchAll(/^export (?:function|const) (\w+)/gm)].map(([, name = ""]) => name)
  return [...all, ...listed.map((name) => name.trim()), ...own].filter((name) => /^\w+$/.test(name))
}

test("the page of React components shows or names every export of @signet/react", () => {
  const exported = exportsOf(new URL("index.ts", folder))
  expect(exported).toContain("Account")
  expect(exported).toContain("useSession")
  const functions = t.functionsAre.flatMap(([name]) => name.match(/\b\w+\b/g) ?? [])
  const shown = new Set([...Object.keys(code), ...functions])
  expect(exported.filter((name) => !shown.has(name))).toEqual([])
  expect(Object.keys(t.what).toSorted()).toEqual(Object.keys(code).toSorted())
})
