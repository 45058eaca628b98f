import type { Plugin } from "esbuild"
import { mutated, mutatedFile } from "./chosen.ts"

/** Puts the fault into the file on its way into a bundle: into the Worker, and its objects. */
export const bundledMutant: Plugin = {
  name: "mutant",
  setup(build) {
    if (mutatedFile === undefined) return
    const filter = new RegExp(`^${mutatedFile.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`)
    build.onLoad({ filter }, () => ({ contents: mutated(), loader: "ts" }))
  },
}
