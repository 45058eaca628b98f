// Imported first by a program that a test starts. Puts the mutant into its file while that process loads it.
import { registerHooks } from "node:module"
import { pathToFileURL } from "node:url"
import { mutated, mutatedFile } from "./chosen.ts"

const target = mutatedFile && pathToFileURL(mutatedFile).href

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    return url === target ? { ...loaded, source: mutated() } : loaded
  },
})
