import { existsSync } from "node:fs"
import { describe, test } from "vitest"
import { effort } from "../support/effort.ts"
import { buildGo, goMissing, goProgram } from "./notes/build-go.ts"
import { testNotes } from "./notes/suite.ts"

// A first build takes most of a minute, so `npm test` takes what the long tests built.
const isBuilt = existsSync(goProgram())
const missing = isBuilt ? undefined : effort(() => "not built yet: npm run test:long does", goMissing, goMissing)()

if (missing === undefined) describe("a service in Go", () => testNotes(() => ({ command: [buildGo()] })))
else test.skip(`a service in Go: ${missing}`, () => {})
