// Writes decisions.json again: npx node server/guard/vectors/generate.ts
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { vectorText } from "./build.ts"

writeFileSync(join(import.meta.dirname, "decisions.json"), vectorText())
