import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { expect, test } from "vitest"
import { settings } from "../server/node/config.ts"

const operations = readFileSync(new URL("../docs/operations.md", import.meta.url), "utf8")

test.each(settings.map((setting) => [setting.name, setting] as const))(
  "docs/operations.md has the setting %s as it is",
  (_, setting) => {
    expect(operations).toContain(`| \`${setting.name}\` | ${setting.default} | ${setting.what} |`)
  },
)

test("docs/operations.md names no setting that does not exist", () => {
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
