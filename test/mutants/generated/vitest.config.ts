import { readFileSync } from "node:fs"
import { defineConfig } from "vitest/config"
import { type Order, orderVariable } from "./exchange.ts"
import { root } from "./folders.ts"
import { generate } from "./generate.ts"

const order: Order = JSON.parse(readFileSync(process.env[orderVariable] ?? "", "utf8"))

// Puts all generated mutants into the files under test, while Vitest loads them.
// biome-ignore lint/style/noDefaultExport: Vitest reads the default export
export default defineConfig({
  root,
  test: {
    include: [...order.tests],
    // The independent check of the vectors starts a program that is loaded without mutants.
    exclude: ["**/node_modules/**", "proto/canonical/vectors/check/**"],
    runner: "test/mutants/generated/runner.ts",
    testTimeout: order.plan === undefined ? 180_000 : 15_000,
    hookTimeout: 120_000,
    pool: "forks",
    isolate: order.only !== undefined,
    maxWorkers: 1,
    globalSetup: ["test/support/postgres-setup.ts"],
    setupFiles: ["test/support/put-back.ts", "test/support/seed.ts"],
    reporters: [["default", { summary: false }]],
    silent: true,
    dangerouslyIgnoreUnhandledErrors: order.only === undefined,
    // The cache's key does not include the mutants.
    fsModuleCache: false,
  },
  plugins: [
    {
      name: "generated-mutants",
      enforce: "pre",
      transform(code, id) {
        const first = order.files[id]
        return first === undefined ? undefined : generate(code, first).code
      },
    },
  ],
})
