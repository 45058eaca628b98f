// Names, messages and claims come from others: a terminal must not interpret their control characters.
import { expect, test } from "vitest"
import { complain, note, show } from "./cli.ts"
import { reportOf, usage } from "./failure.ts"
import { plain, plainJson, plainLines } from "./plain.ts"
import { formatRecord } from "./table.ts"
import { fakeCli } from "./testing/fake-cli.ts"

const orders = ["\u001b]0;title\u0007", "\u001b[2J", "\u009b2J", "\r", "\b", "\u007f", "\u202e", "\u{e0001}"]

test.each(orders)("%j is shown escaped, wherever it comes from", (order) => {
  const said: string[] = [plain(order), plainLines(order)]
  for (const isTerminal of [true, false]) {
    const { cli } = fakeCli({ isTerminal })
    const terminal = { ...cli.terminal, out: (text: string) => said.push(text), err: (text: string) => said.push(text) }
    for (const json of [true, false]) {
      const to = { ...cli, terminal, options: { json } }
      complain(to, reportOf(usage(`it calls itself ${order}`, order)))
      show(to, { name: order }, () => `Signed in as ${order}.`)
      show(to, {}, () => formatRecord(terminal, [[order, order]]))
      note(to, order)
    }
  }
  expect(said.length).toBeGreaterThan(10)
  expect(said.filter((text) => text.includes(order))).toEqual([])
})

test("the program's own colours, lines and tabs stay", () => {
  const text = "\u001b[31mno good\u001b[39m\n\tat all"
  expect(plainLines(text)).toBe(text)
})

test("JSON is escaped without a change of its value", () => {
  const value = { name: `"${orders.join(" ")}\n\\u0041"` }
  expect(JSON.parse(plainJson(JSON.stringify(value, null, 2)))).toEqual(value)
})
