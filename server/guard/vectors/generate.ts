// Regenerates the vectors: npx node server/guard/vectors/generate.ts
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { vectorFiles } from "./files.ts"

for (const [name, text] of await vectorFiles()) writeFileSync(join(import.meta.dirname, name), text)
