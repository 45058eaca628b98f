// The order of a run's test files. The default order is by size, but the slowest files are small.
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** The slowest files, which must start first in either form of a run. Short files should come last. */
const longest = [
  "test/conformance/conformance.test.ts",
  "test/story/cli.test.ts",
  "test/story/crash.test.ts",
  "test/story/messaging-crash.test.ts",
  "test/story/edge-crash.test.ts",
  "test/story/messenger-crash.test.ts",
  "test/story/messenger-peek.test.ts",
  "test/story/messenger-history.test.ts",
  "test/story/messenger-backup.test.ts",
  "test/story/newcomers.test.ts",
  "test/story/races.test.ts",
  "test/story/identity-browser.test.ts",
  "test/story/messenger-browser.test.ts",
  "test/interop/openmls.test.ts",
  "test/interop/openmls-member.test.ts",
  "test/interop/notes-java.test.ts",
  "test/interop/notes-go.test.ts",
  "test/simulation/simulation.test.ts",
  "server/guard/vectors/properties.test.ts",
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
