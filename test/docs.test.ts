import { readFileSync } from "node:fs"
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
