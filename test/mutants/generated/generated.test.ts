import { describe, expect, test } from "vitest"
import { isLong } from "../../support/effort.ts"
import { draw, isAmong, named } from "./draw.ts"
import { numbered } from "./folders.ts"
import { generate } from "./generate.ts"
import { hunt } from "./hunt.ts"
import { reasons } from "./reasons/all.ts"

const changes = (code: string) => generate(code).mutants.map(({ change }) => change)

describe("the generator", () => {
  test.each<[string, string, string[]]>([
    ["a condition", "if (found) go()", ["found → true", "found → false"]],
    ["an operand", "if (a && b()) go()", ["a && b() → true", "a && b() → false", "a → true", "b() → true"]],
    ["a bound", "run(a < b)", ["a < b → true", "a < b → false", "a < b → a <= b", "run(a < b) → nothing"]],
    ["a term", "const end = now + skew", ["now + skew → now"]],
    ["a maximum", "const end = Math.min(a, b)", ["Math.min(a, b) → a", "Math.min(a, b) → b"]],
    ["a statement that is a call", "await store.write()", ["await store.write() → nothing"]],
    ["a throw that nothing decides", "throw new Error()", ["throw new Error() → nothing"]],
    ["no text, no type", 'const text = "a" + b; type Both = A | B', []],
  ])("changes %s", (_, code, expected) => {
    expect(changes(code).toSorted()).toEqual(expected.toSorted())
  })

  test("generates code with unchanged behavior while no mutant is selected", () => {
    const { code } = generate("const f = (a, b) => (a < b && !b) || a + 1 > 2")
    const run = new Function("$mutant", `${code}; return f`)(() => false)
    const cases = [0, 1, 2, -1].flatMap((a) => [0, 1].map((b) => [a, b] as const))
    expect(cases.map(([a, b]) => run(a, b))).toEqual(cases.map(([a, b]) => (a < b && !b) || a + 1 > 2))
  })
})

// Starts Vitest five times.
test.runIf(isLong)(
  "a run kills the mutants that tests detect, and reports the survivors",
  async () => {
    const sample = "test/mutants/generated/sample"
    const question = {
      sources: [`${sample}/sample.ts`],
      tests: [`${sample}/*.tests.ts`],
      slowest: Number.POSITIVE_INFINITY,
    }
    const found = await hunt({ ...question, isExplained: () => false }, () => {})
    expect(found.survivors.map(({ change, isReached }) => [change, isReached])).toEqual([
      ["value > limit → true", true],
      ["value > limit → value >= limit", true],
      ["limit < 0 → true", false],
      ["limit < 0 → false", false],
      ["limit < 0 → limit <= 0", false],
    ])
    expect(found.mutants).toHaveLength(15)
  },
  300_000,
)

describe("a draw of conditions", () => {
  test.runIf(isLong)("is the same for an equal seed, and larger ones contain it", () => {
    const [few, more] = [draw(5, 7), draw(50, 7)]
    expect(more.slice(0, 5)).toEqual(few)
    expect(draw(5, 8)).not.toEqual(few)
    expect(few.filter(isAmong(more))).toEqual(few)
    expect(more.slice(5).filter(isAmong(few))).toEqual([])
  })

  test.runIf(isLong)("replaces conditions by constants, in product files", () => {
    for (const { file, change } of draw(200, 7)) {
      expect(change).toMatch(/→ (true|false)$/)
      expect(file).not.toMatch(/\.test\.ts$|\/testing\//)
    }
  })

  test.runIf(isLong)("a list names some of them, and nothing else", () => {
    const few = draw(3, 7)
    const list = few.map(({ file, line, change }) => `${file}:${line}\t${change}\n`).join("")
    expect(
      named(list)
        .map(({ change }) => change)
        .toSorted(),
    ).toEqual(few.map(({ change }) => change).toSorted())
    expect(() => named(`${list}server/kernel/ids.ts:1\tno → mutant\n`)).toThrow("no mutant has these names")
  })
})

test.each(reasons.map((reason) => [reason.file, reason] as const))(
  "every reason for %s names a mutant that exists",
  (_, reason) => {
    const known = numbered([reason.file]).mutants.map(({ change }) => change)
    expect(reason.changes.filter((change) => !known.includes(change))).toEqual([])
    expect(reason.why.length).toBeGreaterThan(20)
  },
)

test("no mutant has two reasons", () => {
  const names = reasons.flatMap(({ file, changes }) => changes.map((change) => `${file}  ${change}`))
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})
