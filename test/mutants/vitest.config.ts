import { resolve } from "node:path"
import { defineConfig } from "vitest/config"
import { mutated, mutatedFile } from "./chosen.ts"

const root = resolve(import.meta.dirname, "../..")
const here = (file: string) => JSON.stringify(resolve(import.meta.dirname, file))

/**
 * The bundler of the Worker and the starter of programs load code without Vitest, so they apply the mutant themselves.
 */
const others: Readonly<Record<string, (code: string) => string>> = {
  [resolve(root, "server/edge/node/build.ts")]: (code) =>
    `import { bundledMutant } from ${here("bundled.ts")}\n${replaced(code, "[slimRules,", "[bundledMutant, slimRules,")}`,
  [resolve(root, "test/support/program.ts")]: (code) => {
    const options = JSON.stringify(`--import ${resolve(import.meta.dirname, "program.ts")}`)
    const settings = `SIGNET_MUTANT: process.env.SIGNET_MUTANT ?? "", NODE_OPTIONS: ${options}`
    return replaced(code, "env: { PATH, HOME,", `env: { PATH, HOME, ${settings},`)
  },
}

function replaced(code: string, from: string, to: string): string {
  if (!code.includes(from)) throw new Error(`${from} is not there any more`)
  return code.replace(from, () => to)
}

// Puts one mutant into one file while Vitest loads it. Nothing on disk changes.
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
    // The cache's key does not include the mutant.
    fsModuleCache: false,
  },
  plugins: [
    {
      name: "mutant",
      enforce: "pre",
      transform(code, id) {
        if (mutatedFile === undefined) return undefined
        return id === mutatedFile ? mutated(code) : others[id]?.(code)
      },
    },
  ],
})
