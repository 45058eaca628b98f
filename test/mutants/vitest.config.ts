import { resolve } from "node:path"
import { defineConfig } from "vitest/config"
import { mutants } from "./all.ts"

const root = resolve(import.meta.dirname, "../..")
const mutant = mutants[Number(process.env.SIGNET_MUTANT)]

// Puts one fault into one file on its way to the tests. Nothing on disk changes.
// biome-ignore lint/style/noDefaultExport: Vitest reads the default export
export default defineConfig({
  root,
  test: {
    include: ["**/*.test.ts"],
    exclude: ["**/node_modules/**"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    pool: "forks",
    globalSetup: ["test/support/postgres-setup.ts"],
    // The cache knows files, not faults.
    fsModuleCache: false,
  },
  plugins: [
    {
      name: "mutant",
      enforce: "pre",
      transform(code, id) {
        if (mutant === undefined || id !== resolve(root, mutant.file)) return undefined
        return code.replace(mutant.from, () => mutant.to)
      },
    },
  ],
})
