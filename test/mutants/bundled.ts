import type { Plugin } from "esbuild"
import { mutated, mutatedFile } from "./chosen.ts"

/** An esbuild plugin that puts the mutant into the bundle of the Worker and its Durable Objects. */
export const bundledMutant: Plugin = {
  name: "mutant",
  setup(build) {
    if (mutatedFile === undefined) return
    const filter = new RegExp(`^${mutatedFile.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`)
    build.onLoad({ filter }, () => ({ contents: mutated(), loader: "ts" }))
  },
}
