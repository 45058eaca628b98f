// The order of a run's test files. The default order is by size, but the slowest files are small.
import { BaseSequencer, type TestSpecification } from "vitest/node"

/**
 * The slowest files, which must start first in either form of a run. Short files should come last. In .ci/run a file that
 * starts late runs in the short form, so those whose long form matters most come first, too.
 */
const longest = [
  // Collects garbage at each step, which takes tenths of a second in a process that has run other files.
  "test/attack/messenger-peek-memory.test.ts",
  "test/packages.test.ts",
  "test/pages/pages.test.ts",
  "test/native/libsignet-hosts.test.ts",
  "test/story/cli.test.ts",
  "test/drills/drills.test.ts",
  "test/simulation/features.test.ts",
  "test/story/console-chat.test.ts",
  "test/guards/go/go.test.ts",
  "test/interop/contract-templates.test.ts",
  "test/native/jvm.test.ts",
  "test/native/scenario.test.ts",
  "test/native/one-conversation.test.ts",
  "test/native/same-bytes.test.ts",
  "test/native/libsignet-story.test.ts",
  "test/native/android.test.ts",
  "test/native/jvm-pure.test.ts",
  "test/native/workers-bot.test.ts",
  "test/release/image.test.ts",
  "test/story/console-screens.test.ts",
  "test/story/console-chat-devices.test.ts",
  "test/story/console-counts.test.ts",
  "test/simulation/interleavings.test.ts",
  "test/native/react-native.test.ts",
  "test/simulation/held-leases.test.ts",
  "test/story/messenger-browser.test.ts",
  "test/story/messenger-crash.test.ts",
  "test/story/messenger-wasm-browser.test.ts",
  "test/story/messenger-recovery-browser.test.ts",
  "test/story/messaging-crash.test.ts",
  "test/story/edge-crash.test.ts",
  "test/simulation/simulation.test.ts",
  "clients/core/messaging/engine/simulation.test.ts",
  "test/story/newcomers.test.ts",
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
