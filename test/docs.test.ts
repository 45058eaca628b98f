import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, test } from "vitest"
import { settings } from "../server/node/settings.ts"

const operations = readFileSync(new URL("../docs/reference/operations.md", import.meta.url), "utf8")

test.each(settings.map((setting) => [setting.name, setting] as const))(
  "docs/reference/operations.md documents the setting %s correctly",
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

test.each(pages)("every file that %s links to exists", (page) => {
  const text = readFileSync(join(root, page), "utf8").replaceAll(/^```.*?^```$/gms, "")
  const targets = [...text.matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)].map(([, target = ""]) => target)
  expect(targets.filter((target) => !existsSync(join(root, dirname(page), target)))).toEqual([])
})

/** As GitHub names a heading's anchor. */
const anchorsOf = (text: string): ReadonlySet<string> => {
  const seen = new Map<string, number>()
  const headings = [...text.replaceAll(/^ *```.*?^ *```$/gms, "").matchAll(/^#{1,6} (.+)$/gm)]
  return new Set(
    headings.map(([, heading = ""]) => {
      const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase()
      const anchor = words.replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")
      const count = seen.get(anchor) ?? 0
      seen.set(anchor, count + 1)
      return count === 0 ? anchor : `${anchor}-${count}`
    }),
  )
}

test.each(pages)("every heading that %s links to exists", (page) => {
  const text = readFileSync(join(root, page), "utf8").replaceAll(/^ *```.*?^ *```$/gms, "")
  const links = [...text.matchAll(/\]\((?!\w+:)([^)#\s]*\.md)?#([^)\s]+)\)/g)]
  const missing = links.filter(([, path, anchor = ""]) => {
    const target = path === undefined ? join(root, page) : join(root, dirname(page), path)
    return !anchorsOf(readFileSync(target, "utf8")).has(anchor)
  })
  expect(missing.map(([link]) => link)).toEqual([])
})

test.each(pages)("every source that %s names exists", (page) => {
  const text = readFileSync(join(root, page), "utf8")
  const named = [...text.matchAll(/`((?:server|clients|test|proto|docs|scripts|guards|gen)\/[\w./-]+\.\w+)`/g)]
  expect(named.map(([, path = ""]) => path).filter((path) => !existsSync(join(root, path)))).toEqual([])
})

/** Folders that a newcomer opens first: each explains itself. */
const entrances = ["server/kernel", "server/keys", "server/providers", "server/rpc", "server/serving", "server/store"]

describe("a README of its own", () => {
  const { workspaces } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { workspaces: string[] }
  const top = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !/^(node_modules|dist|coverage|\..*)$/.test(entry.name))
    .map(({ name }) => name)

  test.each([...new Set([...top, ...workspaces, ...entrances])])("is in %s", (folder) => {
    expect(existsSync(join(root, folder, "README.md"))).toBe(true)
  })
})

const kinds = { tutorials: "Tutorial", "how-to": "How-to", reference: "Reference", explanation: "Explanation" }

test.each(pages.filter((page) => /^docs\/(tutorials|how-to|reference|explanation)\//.test(page)))(
  "%s names its kind and its reader first",
  (page) => {
    const folder = page.split("/")[1] as keyof typeof kinds
    const [, lead = ""] = /^# .+\n\n(.+)/.exec(readFileSync(join(root, page), "utf8")) ?? []
    expect(lead).toMatch(new RegExp(`^${kinds[folder]}, for `))
  },
)

test("the index of docs links to every page", () => {
  const index = readFileSync(join(root, "docs/README.md"), "utf8")
  const listed = pages.filter((page) => /^docs\/(tutorials|how-to|reference|explanation)\//.test(page))
  expect(listed.filter((page) => !index.includes(`](${page.slice("docs/".length)})`))).toEqual([])
})

describe("docs/decisions", () => {
  const names = readdirSync(join(root, "docs/decisions")).filter((name) => /^\d{4}-/.test(name))
  const index = readFileSync(join(root, "docs/decisions/README.md"), "utf8")

  test.each(names)("%s has a date, a status and its alternatives, as the index does", (name) => {
    const text = readFileSync(join(root, "docs/decisions", name), "utf8")
    const lead =
      /^# (\d{4}) (.+)\n\n\| date \| status \| alternatives \|\n\|---\|---\|---\|\n\| (.+?) \| (.+?) \| .{20,} \|\n/
    const [, number = "", title = "", date = "", status = ""] = lead.exec(text) ?? []
    expect(name.startsWith(number)).toBe(true)
    expect(date).toMatch(/^20\d\d-\d\d-\d\d$/)
    expect(index).toContain(`| ${number} | [${title}](${name}) | ${date} | ${status} |`)
  })

  test("are numbered without a gap that the index does not explain", () => {
    const listed = [...index.matchAll(/^\| (\d{4}) \| (.+?) \|/gm)].map(([, number = ""]) => Number(number))
    expect(listed).toEqual(listed.map((_, position) => position + 1))
    expect(listed.length).toBeGreaterThanOrEqual(names.length)
  })
})

describe("docs/explanation/architecture.md", () => {
  const page = readFileSync(join(root, "docs/explanation/architecture.md"), "utf8")
  const listed = [...page.matchAll(/^\| `([\w./-]+)` \|/gm)].map(([, folder = ""]) => folder)
  const { workspaces } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { workspaces: string[] }
  const folders = ["server", "clients", "guards"].flatMap((parent) =>
    readdirSync(join(root, parent), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !/^(node_modules|dist|target|\..*)$/.test(entry.name))
      .map(({ name }) => `${parent}/${name}`),
  )

  test.each([...new Set([...workspaces, ...folders])])("has a row for %s", (folder) => {
    expect(listed).toContain(folder)
  })

  test("names no folder that does not exist", () => {
    expect(listed.filter((folder) => !existsSync(join(root, folder)))).toEqual([])
  })
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
