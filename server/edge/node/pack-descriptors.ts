// Compresses the contract's descriptors together: separate base64 texts are the part of the bundle that hardly
// compresses. They are unpacked when the module loads, before their first use.
import { brotliCompressSync } from "node:zlib"
import { fromBinary } from "@bufbuild/protobuf"
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt"

const descriptor = /"([A-Za-z0-9+/]{200,})"/g

/**
 * @param code A minified ES module of one bundle.
 * @throws Error for a long text that is no descriptor.
 */
export function packDescriptors(code: string): string {
  const files = [...code.matchAll(descriptor)].map(([, text = ""]) => descriptorOf(text))
  const ends = files.map((_, at) => files.slice(0, at + 1).reduce((sum, { length }) => sum + length, 0))
  const packed = brotliCompressSync(Buffer.concat(files)).toString("base64")
  let next = 0
  const body = code.replace(descriptor, () => `$descriptor(${next++})`)
  return `import{Buffer as $Buffer}from"node:buffer";import{brotliDecompressSync as $unpack}from"node:zlib";
const $files=$unpack($Buffer.from("${packed}","base64")),$ends=[0,${ends.join()}],
$descriptor=at=>$files.subarray($ends[at],$ends[at+1]).toString("base64");
${body}`
}

function descriptorOf(base64: string): Buffer {
  const bytes = Buffer.from(base64, "base64")
  if (fromBinary(FileDescriptorProtoSchema, bytes).name === "") throw new Error("a long text is no descriptor")
  return bytes
}
