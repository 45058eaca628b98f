// Imported first by a program that a test starts: puts the fault into the file on its way into that process.
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
