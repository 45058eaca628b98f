import { describe, test } from "vitest"
import { effort } from "../support/effort.ts"
import { javaMissing } from "./guard-java/maven.ts"
import { buildJava } from "./notes/build-java.ts"
import { testNotes } from "./notes/suite.ts"

// A build takes half a minute, and each of a dozen starts of a virtual machine half a second.
const missing = effort(() => "npm run test:long runs it", javaMissing, javaMissing)()

if (missing === undefined) describe("a service in Java", () => testNotes(() => ({ command: buildJava() })))
else test.skip(`a service in Java: ${missing}`, () => {})
