// Writes the vector files again: npx node proto/canonical/vectors/generate.ts
// A change of what is written is a change of the format that every client and server shares.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { buildVectors } from "./build.ts"
import { fileText } from "./text.ts"

for (const [name, content] of Object.entries(buildVectors())) {
  writeFileSync(join(import.meta.dirname, `${name}.json`), fileText(content))
}
