import { rmSync } from "node:fs"
import { join } from "node:path"
import { describe, test } from "vitest"
import { effort } from "../support/effort.ts"
import { testNotes } from "./notes/suite.ts"
import { makeWorkspace, root, runBuf } from "./notes/workspace.ts"
import { python, pythonMissing } from "./python/stubs.ts"

const missing = effort(() => "npm run test:long runs it", pythonMissing, pythonMissing)()
const script = join(import.meta.dirname, "python/notes.py")

function build() {
  const workspace = makeWorkspace()
  const close = () => rmSync(workspace, { recursive: true, force: true })
  const template = { version: "v2", plugins: [{ protoc_builtin: "python", out: "stubs" }] }
  // The guard brings the stubs of signet/authz/v1.
  runBuf(workspace, "generate", "--exclude-path", "proto/signet/authz", "--template", JSON.stringify(template))
  return { command: [python, script, join(root, "guards/python"), join(workspace, "stubs")] as const, close }
}

if (missing === undefined) describe("a service in Python", () => testNotes(build))
else test.skip(`a service in Python: ${missing}`, () => {})
