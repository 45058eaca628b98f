import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, test } from "vitest"
import { settings } from "../server/node/config.ts"

const operations = readFileSync(new URL("../docs/reference/operations.md", import.meta.url), "utf8")

test.each(settings.map((setting) => [setting.name, setting] as const))(
  "docs/reference/operations.md has the setting %s as it is",
  (_, setting) => {
    expect(operations).toContain(`| \`${setting.name}\` | ${setting.default} | ${setting.what} |`)
  },
)

test("docs/reference/operations.md names no setting that does not exist", () => {
  const named = [...operations.matchAll(/^\| `([A-Z_]+)` \|/gm)].map((match) => match[1])
  expect(named).toEqual(settings.map(({ name }) => name))
})

const root = join(import.meta.dirname, "..")
const pages = ["README.md", "CONTRIBUTING.md", "clients/README.md", "server/README.md", "test/README.md"].concat(
  readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
)

test.each(pages)("every file that %s links to is there", (page) => {
  const text = readFileSync(join(root, page), "utf8").replaceAll(/^```.*?^```$/gms, "")
  const targets = [...text.matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)].map(([, target = ""]) => target)
  expect(targets.filter((target) => !existsSync(join(root, dirname(page), target)))).toEqual([])
})

describe("docs/reference/security.md", () => {
  const page = readFileSync(join(root, "docs/reference/security.md"), "utf8")
  const rows = [...page.matchAll(/^\| claim \| tests \|\n\|---\|---\|\n((?:\|.*\n)+)/gm)].flatMap(([, body = ""]) =>
    body.trimEnd().split("\n"),
  )
  const claims = rows.map((row) => row.replace(/^\| | \|$/g, "").split(" | ") as [claim: string, tests: string])

  test("has claims in every section but the last", () => {
    const sections = page.split(/^## /m).slice(1)
    const without = sections.filter((section) => !section.includes("\n| claim | tests |\n"))
    expect(without.map((section) => section.split("\n")[0])).toEqual(["What is not claimed"])
    expect(claims.filter((cells) => cells.length !== 2)).toEqual([])
  })

  test.each(claims)("%s: each named test exists", (_, tests) => {
    const named = [...tests.matchAll(/\[([^\]]+)\]\(\.\.\/\.\.\/([^)]+\.test\.ts)\)/g)]
    expect(named.length).toBeGreaterThan(0)
    // The name is a whole string of the file: the title that it passes to `test`, `describe` or a wrapper of either.
    const missing = named.filter(([, title = "", path = ""]) => {
      const file = readFileSync(join(root, path), "utf8")
      return !['"', "`", "'"].some((quote) => file.includes(`${quote}${title}${quote}`))
    })
    expect(missing.map(([link]) => link)).toEqual([])
  })
})
