import { availableParallelism } from "node:os"
import { resolve } from "node:path"
import { defineConfig } from "vitest/config"
import { effort } from "./test/support/effort.ts"
import { reportNotes } from "./test/support/report-notes.ts"
import { slowestFiles } from "./test/support/slowest-files.ts"
import { SlowestFirst } from "./test/support/slowest-first.ts"

/** Where .ci/run wants the counts. */
const report = process.env.SIGNET_TEST_REPORT

export default defineConfig({
  // React Native is a part of an app, and not of this repository.
  resolve: { alias: { "react-native": resolve("clients/react-native/testing/jsc/registry.ts") } },
  test: {
    include: ["**/*.test.ts"],
    exclude: ["**/node_modules/**"],
    // On a machine that is slow for a moment. The summary of .ci/run names each test that needed it.
    retry: effort(0, 1, 0),
    // Only a test that hangs takes this long. Other work may use most of the machine.
    testTimeout: 180_000,
    hookTimeout: 240_000,
    // The default of a second is too short on a machine that does other work.
    expect: { poll: { timeout: 30_000 } },
    pool: "forks",
    // Files share a process, and so what it has imported and compiled: that is nearly half of the time. See put-back.ts.
    isolate: false,
    // One more than cores: some tests wait for a database, a program or a time limit.
    maxWorkers: availableParallelism() + 1,
    // Tests that are marked as concurrent wait for a minute of the Worker's time.
    maxConcurrency: 12,
    sequence: { sequencer: SlowestFirst },
    globalSetup: ["test/support/postgres-setup.ts"],
    // For the programs that tests start: compiling takes half of their start.
    env: { NODE_COMPILE_CACHE: resolve("node_modules/.cache/signet/compiled") },
    setupFiles: ["test/support/put-back.ts", "test/support/seed.ts"],
    reporters: ["default", slowestFiles(), ...(report ? ["json", reportNotes(report)] : [])],
    ...(report ? { outputFile: { json: report } } : {}),
  },
})
