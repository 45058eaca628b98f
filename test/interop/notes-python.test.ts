import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { refusals } from "@signet/kernel/errors"
import { describe, test } from "vitest"
import { testNotes } from "./notes/suite.ts"
import { makeWorkspace, runBuf } from "./notes/workspace.ts"
import { python, pythonMissing } from "./python/stubs.ts"

const missing = pythonMissing()
const script = join(import.meta.dirname, "python/notes.py")

function build() {
  const workspace = makeWorkspace()
  const close = () => rmSync(workspace, { recursive: true, force: true })
  const template = { version: "v2", plugins: [{ protoc_builtin: "python", out: "stubs" }] }
  runBuf(workspace, "generate", "--template", JSON.stringify(template))
  const told = join(workspace, "refusals.json")
  writeFileSync(told, JSON.stringify(refusals))
  return { command: [python, script, join(workspace, "stubs"), told] as const, close }
}

if (missing === undefined) describe("a service in Python", () => testNotes(build))
else test.skip(`a service in Python: ${missing}`, () => {})
