// The order of a run's test files. The default order is by size, but the slowest files are small.
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** The slowest files, which must start first in either form of a run. Short files should come last. */
const longest = [
  // Collects garbage at each step, which takes tenths of a second in a process that has run other files.
  "test/attack/messenger-peek-memory.test.ts",
  "test/story/newcomers.test.ts",
  "test/story/messenger-crash.test.ts",
  "test/story/administration-states.test.ts",
  "server/store/postgres/races.test.ts",
]

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = longest.findIndex((path) => moduleId.endsWith(`/${path}`))
      return at < 0 ? longest.length : at
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}
