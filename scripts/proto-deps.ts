// Gathers the schemas that ours import into node_modules/.proto, offline, from npm packages.
// What a package ships as .proto is copied; what it ships only as a descriptor is printed, and the print is proven:
// compiled again it must give the very same descriptor.
import { execFileSync } from "node:child_process"
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { clone, createRegistry, type DescFile, equals, fromBinary } from "@bufbuild/protobuf"
import {
  type DescriptorProto,
  type FieldDescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt"
import { file_buf_validate_validate } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js"
import { printProto } from "./print-proto.ts"

const copied: Record<string, string> = {
  "google/api/annotations.proto": "google-proto-files/google/api/annotations.proto",
  "google/api/field_behavior.proto": "google-proto-files/google/api/field_behavior.proto",
  "google/api/http.proto": "google-proto-files/google/api/http.proto",
  "google/rpc/error_details.proto": "google-proto-files/google/rpc/error_details.proto",
  "google/rpc/status.proto": "google-proto-files/google/rpc/status.proto",
  "grpc/health/v1/health.proto": "grpc-health-check/proto/health/v1/health.proto",
  "grpc/reflection/v1/reflection.proto": "@grpc/reflection/build/proto/grpc/reflection/v1/reflection.proto",
}
const printed: DescFile[] = [file_buf_validate_validate]

const modules = join(import.meta.dirname, "..", "node_modules")
const target = join(modules, ".proto")

/** The descriptor without what does not matter: comments, field order, derived JSON names. */
function normalized(file: FileDescriptorProto): FileDescriptorProto {
  const copy = clone(FileDescriptorProtoSchema, file)
  copy.sourceCodeInfo = undefined
  const tidy = (fields: FieldDescriptorProto[]) => {
    fields.sort((a, b) => a.number - b.number)
    for (const field of fields) field.jsonName = ""
  }
  const visit = (message: DescriptorProto) => {
    tidy(message.field)
    tidy(message.extension)
    message.nestedType.forEach(visit)
  }
  copy.messageType.forEach(visit)
  tidy(copy.extension)
  return copy
}

rmSync(target, { recursive: true, force: true })
for (const [to, from] of Object.entries(copied)) {
  mkdirSync(dirname(join(target, to)), { recursive: true })
  copyFileSync(join(modules, from), join(target, to))
}
for (const file of printed) {
  mkdirSync(dirname(join(target, file.proto.name)), { recursive: true })
  writeFileSync(join(target, file.proto.name), printProto(file))
}
const image = execFileSync("buf", ["build", target, "--exclude-source-info", "--as-file-descriptor-set", "-o", "-"], {
  maxBuffer: 100_000_000,
})
for (const file of printed) {
  const again = fromBinary(FileDescriptorSetSchema, image).file.find(({ name }) => name === file.proto.name)
  const same =
    again !== undefined &&
    equals(FileDescriptorProtoSchema, normalized(again), normalized(file.proto), {
      extensions: true,
      unknown: true,
      registry: createRegistry(file),
    })
  if (!same) throw new Error(`${file.proto.name}, printed and compiled again, is another schema`)
}
