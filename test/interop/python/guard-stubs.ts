// Writes the stubs that the Python guard ships: `node test/interop/python/guard-stubs.ts`.
//
// The protoc of Debian 12 (3.21) writes them. Its code runs with every protobuf runtime from 4.21 on; newer generators write
// code that demands a runtime as new as they are.
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { guardFolder } from "./reason-table.ts"

const root = join(import.meta.dirname, "../../..")
const version = execFileSync("protoc", ["--version"], { encoding: "utf8" }).trim()
if (!version.startsWith("libprotoc 3.21.")) throw new Error(`protoc 3.21 is needed, and here is ${version}`)
const template = {
  version: "v2",
  plugins: ["python", "pyi"].map((plugin) => ({ protoc_builtin: plugin, out: guardFolder })),
}
const files = ["context", "denial", "reason", "requirement"].map((name) => `proto/signet/authz/v1/${name}.proto`)
const paths = files.flatMap((file) => ["--path", file])
execFileSync(
  join(root, "node_modules/.bin/buf"),
  ["generate", "proto", "--template", JSON.stringify(template), ...paths],
  {
    cwd: root,
  },
)
