// Regenerates the vector files: npx node proto/canonical/vectors/generate.ts
// A changed file is a change of the format that all clients and servers share.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { buildVectors } from "./build.ts"
import { fileText } from "./text.ts"

for (const [name, content] of Object.entries(buildVectors())) {
  writeFileSync(join(import.meta.dirname, `${name}.json`), fileText(content))
}
