// What stands in proto/: copies of others' files as the pinned npm packages ship them, and options for other languages.
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { createRegistry, equals, fromBinary } from "@bufbuild/protobuf"
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"
import { file_buf_validate_validate } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js"
import { expect, test } from "vitest"
import { parse } from "yaml"

const root = join(import.meta.dirname, "..")
const folder = join(root, "proto")

const copied: Record<string, string> = {
  "google/api/annotations.proto": "google-proto-files/google/api/annotations.proto",
  "google/api/field_behavior.proto": "google-proto-files/google/api/field_behavior.proto",
  "google/api/http.proto": "google-proto-files/google/api/http.proto",
  "google/rpc/error_details.proto": "google-proto-files/google/rpc/error_details.proto",
  "google/rpc/status.proto": "google-proto-files/google/rpc/status.proto",
  "grpc/health/v1/health.proto": "grpc-health-check/proto/health/v1/health.proto",
  "grpc/reflection/v1/reflection.proto": "@grpc/reflection/build/proto/grpc/reflection/v1/reflection.proto",
}

test("every file has an origin", () => {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (path) => path.endsWith(".proto") && !path.startsWith("signet/"),
  )
  expect(files.sort()).toEqual(["buf/validate/validate.proto", ...Object.keys(copied)].sort())
})

test.each(Object.entries(copied))("%s is the file of its npm package", (path, origin) => {
  expect(readFileSync(join(folder, path), "utf8")).toBe(readFileSync(join(root, "node_modules", origin), "utf8"))
})

test("buf/validate/validate.proto compiles to the descriptor of its npm package", () => {
  const parts = [
    "build",
    folder,
    "--path",
    join(folder, "buf"),
    "--exclude-source-info",
    "--as-file-descriptor-set",
    "-o",
    "-",
  ]
  const image = execFileSync(join(root, "node_modules/.bin/buf"), parts, { maxBuffer: 100_000_000 })
  const ours = fromBinary(FileDescriptorSetSchema, image).file.find(({ name }) => name.startsWith("buf/"))
  const theirs = file_buf_validate_validate.proto
  if (ours === undefined) throw new Error("buf built no validate.proto")
  const types = { extensions: true, unknown: true, registry: createRegistry(file_buf_validate_validate) }
  expect(equals(FileDescriptorProtoSchema, ours, theirs, types)).toBe(true)
})

test("buf.yaml and proto/buf.yaml have the same rules", () => {
  const ofFolder: string = readFileSync(join(folder, "buf.yaml"), "utf8").replaceAll(/ignore: .*/g, "")
  const ofRoot: string = readFileSync(join(root, "buf.yaml"), "utf8").replaceAll(/ignore: .*/g, "")
  const { modules, ...rules }: { modules?: unknown } = parse(ofRoot)
  expect(modules).toEqual([{ path: "proto" }])
  expect(rules).toEqual(parse(ofFolder))
})

test("every file of ours names its Go and Java packages after its proto package", () => {
  const files = readdirSync(join(folder, "signet"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".proto"))
    .map((path): [string, string] => [path, readFileSync(join(folder, "signet", path), "utf8")])
  expect(files.length).toBeGreaterThan(50)
  for (const [path, text] of files) {
    const [area = "", version = "", file = ""] = path.split("/")
    const base = area === "authz" ? "signet.dev/guard/gen" : "signet.dev/proto/gen"
    const name = file.replace(".proto", "").replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())
    const options = [
      `option go_package = "${base}/signet/${area}/${version};${area}${version}";`,
      "option java_multiple_files = true;",
      `option java_outer_classname = "${name}Proto";`,
      `option java_package = "dev.signet.${area}.${version}";`,
    ]
    expect(text, path).toContain(options.join("\n"))
  }
})
