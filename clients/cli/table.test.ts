import { expect, test } from "vitest"
import { formatRecord, formatTable } from "./table.ts"
import { fakeCli } from "./testing/fake-cli.ts"

const script = fakeCli().cli.terminal
const person = fakeCli({ isTerminal: true }).cli.terminal
const rows = [
  ["app_1", "Garden", ""],
  ["app_22", "Notes", "x"],
]

test("people get columns with titles, scripts values with tabs", () => {
  expect(formatTable(person, ["ID", "NAME", ""], rows)).toBe(
    "\u001b[2mID      NAME\u001b[22m\napp_1   Garden\napp_22  Notes   x",
  )
  expect(formatTable(script, ["ID", "NAME", ""], rows)).toBe("app_1\tGarden\t\napp_22\tNotes\tx")
})

test("empty values are omitted from a record", () => {
  expect(
    formatRecord(script, [
      ["id", "1"],
      ["tenant", ""],
      ["name", undefined],
    ]),
  ).toBe("id\t1")
})

test("a name cannot move the cursor, colour the screen or make a row", () => {
  for (const terminal of [script, person]) {
    const text = formatTable(terminal, ["NAME"], [["\u001b[2Jnothing\r\nhere\u202eereht"]])
    expect(text.replaceAll("\u001b[2mNAME\u001b[22m\n", "")).toBe("\ufffd[2Jnothing\ufffd\ufffdhere\ufffdereht")
  }
})
