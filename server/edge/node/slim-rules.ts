// Removes the expressions from the schema of validation rules: 100 KB that only protovalidate reads, which the Worker
// does not contain.
import { readFile } from "node:fs/promises"
import { fromBinary, toBinary } from "@bufbuild/protobuf"
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire"
import { type DescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt"
import type { Plugin } from "esbuild"

const descriptor = /(fileDesc\(")([A-Za-z0-9+/=]+)(")/

export const slimRules: Plugin = {
  name: "slim-rules",
  setup(build) {
    build.onLoad({ filter: /protovalidate\/.*\/buf\/validate\/validate_pb\.js$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8")
      if (!descriptor.test(text)) throw new Error(`${path} does not have the expected form`)
      return { contents: text.replace(descriptor, (_, before, base64, after) => before + slim(base64) + after) }
    })
  },
}

function slim(base64: string): string {
  const file = fromBinary(FileDescriptorProtoSchema, base64Decode(base64))
  for (const message of file.messageType) {
    forget(message)
    // An unlisted rule type loses its fields, so its rules become unknown, and unknown rules are not served.
    if (message.name.endsWith("Rules") && !checked.has(message.name)) message.field = []
  }
  return base64Encode(toBinary(FileDescriptorProtoSchema, file), "std_raw")
}

/** The rules that server/serving/validation supports. */
const checked = new Set([
  ...["MessageRules", "OneofRules", "FieldRules", "RepeatedRules", "StringRules", "BytesRules", "EnumRules"],
  ...["Int32Rules", "Int64Rules", "UInt32Rules", "UInt64Rules", "DurationRules", "TimestampRules"],
])

/** The expressions are extensions, which are unknown fields here. */
function forget(message: DescriptorProto): void {
  for (const { options } of message.field) if (options) delete options.$unknown
  for (const nested of message.nestedType) forget(nested)
}
