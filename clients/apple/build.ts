// Generates the messages of the Swift package, after libsignet: `npm run native:apple`, on a Mac.
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { coreFacades } from "../native/services.ts"

const root = join(import.meta.dirname, "../..")
const into = join(import.meta.dirname, "Sources/Signet/Messages")
/** They import no message of another file, as the build of the Java library has it. */
const files = [...coreFacades.map(({ proto }) => `client/v1/${proto}`), "host/v1/host"]

for (const tool of ["protoc", "protoc-gen-swift"]) {
  if (spawnSync(tool, ["--version"], { stdio: "ignore" }).error !== undefined)
    throw new Error(`${tool} is not installed: brew install swift-protobuf`)
}
mkdirSync(into, { recursive: true })
execFileSync(
  "protoc",
  [
    ...[`--proto_path=${join(root, "proto")}`, `--swift_out=${into}`],
    ...["--swift_opt=Visibility=Public", "--swift_opt=FileNaming=DropPath"],
    ...files.map((file) => `signet/${file}.proto`),
  ],
  { stdio: "inherit" },
)
console.log(`${into}; then: cmake --install dist/native/c, and swift build --package-path clients/apple`)
