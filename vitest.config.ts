import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["**/*.test.ts"],
    exclude: ["**/node_modules/**"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    pool: "forks",
    // One a core: a test that waits for a database leaves its core to another.
    maxWorkers: "100%",
    globalSetup: ["test/support/postgres-setup.ts"],
  },
})
