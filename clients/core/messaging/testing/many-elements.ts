// Structures of RFC 9420 with many list elements. They are well-formed, and no honest member sends them.
import { maxLeafElements, maxLeafExtensions, maxLeafKinds } from "@signet/canonical/leaf-elements"

interface ManyElements {
  readonly wireformat: "mls_public_message" | "mls_welcome" | "mls_group_info"
  /** The encoded message with this number of elements. */
  readonly of: (count: number) => Uint8Array
}

export const join = (...parts: readonly (readonly number[] | Uint8Array)[]) =>
  Uint8Array.from(Buffer.concat(parts.map((part) => Buffer.from(part))))
const repeat = (bytes: readonly number[], count: number) =>
  Uint8Array.from(Buffer.alloc(bytes.length * count, Buffer.from(bytes)))
export function vector(bytes: Uint8Array | readonly number[]): Uint8Array {
  const size = bytes.length
  const prefix =
    size < 64
      ? [size]
      : size < 16_384
        ? [0x40 | (size >> 8), size & 255]
        : [0x80, size >> 16, (size >> 8) & 255, size & 255]
  return join(prefix, bytes)
}
const key = vector(repeat([7], 32))
const types = vector([0, 1])

const keyPackageSource = join([1], repeat([0], 16))
const commitSource = join([3], key)
const leafNode = ({
  suites = types,
  protocols = types,
  credentials = types,
  source = keyPackageSource,
  extensions = vector([]),
} = {}) => join(key, key, [0, 1], vector([7]), types, suites, protocols, types, credentials, source, extensions, key)
const kinds = (count: number) => vector(repeat([0, 1], count))
const { versions, cipherSuites, credentials } = maxLeafKinds
const leafExtensions = vector(repeat([0, 1, 0], maxLeafExtensions))
/** A leaf with the elements that take longest to decode, as many as the client decodes. */
const costlyLeaf = join(
  key,
  key,
  [0, 1],
  vector([7]),
  kinds(versions),
  kinds(cipherSuites),
  vector(repeat([0, 9], maxLeafElements - versions - cipherSuites - credentials - 2 * maxLeafExtensions)),
  [0],
  kinds(credentials),
  keyPackageSource,
  leafExtensions,
  key,
)
/** A commit of such proposals, encoded. Nothing of it is signed. */
export const commitOf = (proposals: Uint8Array, path: Uint8Array = Uint8Array.of(0)) =>
  join([0, 1, 0, 1], key, repeat([0], 8), [1, 0, 0, 0, 0], vector([]), [3], vector(proposals), path, key, key, key)
const keyPackage = (leaf: Uint8Array, extensions = vector([])) => join([0, 1, 0, 1], key, leaf, extensions, key)
const groupInfo = (extensions: Uint8Array) =>
  join([0, 1, 0, 4, 0, 1, 0, 1], key, repeat([0], 8), key, key, vector(extensions), vector([]), key, [0, 0, 0, 0], key)

const inCommit = (of: (count: number) => Uint8Array) => ({ wireformat: "mls_public_message", of }) as const
const inPath = (of: (count: number) => Uint8Array) => inCommit((count) => commitOf(new Uint8Array(), of(count)))

/** Messages with many elements in one list. */
export const manyElements: Readonly<Record<string, ManyElements>> = {
  removals: inCommit((count) => commitOf(repeat([1, 0, 3, 0, 0, 0, 1], count))),
  "proposals by reference": inCommit((count) => commitOf(repeat([2, 0], count))),
  "changed extensions": inCommit((count) => commitOf(join([1, 0, 7], vector(repeat([0, 9, 0], count))))),
  "abilities of a joiner": inCommit((count) =>
    commitOf(join([1, 0, 1], keyPackage(leafNode({ protocols: vector(repeat([0, 9], count)) })))),
  ),
  "cipher suites of a joiner": inCommit((count) =>
    commitOf(join([1, 0, 1], keyPackage(leafNode({ suites: vector(repeat([0, 1], count)) })))),
  ),
  "credential types of a joiner": inCommit((count) =>
    commitOf(join([1, 0, 1], keyPackage(leafNode({ credentials: vector(repeat([0, 1], count)) })))),
  ),
  "extensions of a key package": inCommit((count) =>
    commitOf(join([1, 0, 1], keyPackage(leafNode(), vector(repeat([0, 9, 0], count))))),
  ),
  joiners: inCommit((count) => commitOf(repeat([...join([1, 0, 1], keyPackage(costlyLeaf, leafExtensions))], count))),
  "proposals with extensions": inCommit((count) =>
    commitOf(repeat([...join([1, 0, 7], vector(repeat([0, 1, 0], 8)))], count)),
  ),
  "extensions of a leaf": inPath((count) =>
    join([1], leafNode({ source: commitSource, extensions: vector(repeat([0, 9, 0], count)) }), vector([])),
  ),
  "path nodes": inPath((count) => join([1], leafNode({ source: commitSource }), vector(repeat([0, 0], count)))),
  "path secrets": inPath((count) =>
    join([1], leafNode({ source: commitSource }), vector(join(key, vector(repeat([0, 0], count))))),
  ),
  "recipients of a Welcome": {
    wireformat: "mls_welcome",
    of: (count) => join([0, 1, 0, 3, 0, 1], vector(repeat([0, 0, 0], count)), key),
  },
  "extensions of a group": { wireformat: "mls_group_info", of: (count) => groupInfo(repeat([0, 9, 0], count)) },
}

/** Trees with `count` elements in one list. */
export const treeOf = {
  blanks: (count: number) => vector(repeat([0], count)),
  leaves: (count: number) => vector(repeat([...join([1, 1], costlyLeaf)], count)),
  unmerged: (count: number) => vector(join([1, 2], key, vector([]), vector(repeat([0, 0, 0, 1], count)))),
}
