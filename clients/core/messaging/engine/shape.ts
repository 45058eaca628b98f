// Counts the list elements of MLS structures before decoding. Decoding costs microseconds per element, and an element
// can be as short as two bytes. An honest message has fewer: each limit is the service's, or larger.
import { maxLeafElements, maxLeafExtensions, maxLeafKinds, maxListExtensions } from "@signet/canonical/leaf-elements"
import { maxLeaves } from "./kit.ts"
import { demand } from "./refusal.ts"

/** A fixed number of bytes, an opaque vector, consecutive fields, a list, a variant with its selector, or a part. */
export type Shape = number | "opaque" | readonly Shape[] | List | Selected | Part
interface List {
  readonly list: Shape
  /** Maximum number of elements of this list. Default: the count of the whole decides alone. */
  readonly most?: number
}
interface Selected {
  /** The length of the selector in bytes. */
  readonly selector: number
  /** The variants by selector value. Other values are refused as malformed. */
  readonly cases: Readonly<Record<number, Shape>>
}
/** A part whose list elements are counted apart: a leaf. */
interface Part {
  readonly part: Shape
  readonly most: number
  /** The number of elements of the whole that it counts as. */
  readonly counts: number
}

const optional = (shape: Shape): Shape => ({ selector: 1, cases: { 0: 0, 1: shape } })

// The structures of RFC 9420, up to their last list. Sections 5.3 and 7.2.
const extensions: Shape = { list: [2, "opaque"], most: maxListExtensions }
const types: Shape = { list: 2 }
// For each entry ts-mls makes a table of all that it knows, in up to 10 microseconds. ts-mls decodes Updates, and
// key packages outside a commit.
const kinds = (most: number): Shape => ({ list: 2, most })
const credential: Shape = { selector: 2, cases: { 1: "opaque", 2: { list: "opaque" } } }
const source: Shape = { selector: 1, cases: { 1: 16, 2: 0, 3: "opaque" } }
const { versions, cipherSuites, credentials } = maxLeafKinds
const capabilities = [kinds(versions), kinds(cipherSuites), types, types, kinds(credentials)]
const leafExtensions: Shape = { list: [2, "opaque"], most: maxLeafExtensions }
const leafFields = ["opaque", "opaque", credential, capabilities, source, leafExtensions, "opaque"] as const
/** A few more than a leaf may have: `checkLeaf` and `checkKeyPackage` refuse those, and say why. */
const maxCounted = maxLeafElements + 8
/** A leaf without lists is decoded in the time of a hundred unmerged leaves. */
const leafCounts = 100
const leafNode: Shape = { part: leafFields, most: maxCounted, counts: leafCounts }
/** Section 10. */
const keyPackage: Shape = { part: [4, "opaque", leafFields, leafExtensions, "opaque"], most: maxCounted, counts: 0 }
/** Section 12.4.3. */
const groupContext: Shape = [4, "opaque", 8, "opaque", "opaque", extensions]
const groupInfo: Shape = [groupContext, extensions]
const sealed: Shape = ["opaque", "opaque"]
const welcome: Shape = [2, { list: ["opaque", sealed] }]
/** Section 12.1. */
const preSharedKey: Shape = { selector: 1, cases: { 1: "opaque", 2: [1, "opaque", 8] } }
const proposal: Shape = {
  selector: 2,
  cases: {
    1: keyPackage,
    2: leafNode,
    3: 4,
    4: [preSharedKey, "opaque"],
    5: ["opaque", 4, extensions],
    6: "opaque",
    7: extensions,
  },
}
/** Section 12.4. */
const maxProposals = 256
const commit: Shape = [
  { list: { selector: 1, cases: { 1: proposal, 2: "opaque" } }, most: maxProposals },
  optional([leafNode, { list: ["opaque", { list: sealed }] }]),
]
/** Section 6. */
const sender: Shape = { selector: 1, cases: { 1: 4, 2: 4, 3: 0, 4: 0 } }
const content: Shape = { selector: 1, cases: { 1: "opaque", 2: proposal, 3: commit } }
const message = [
  2,
  {
    selector: 2,
    cases: { 1: ["opaque", 8, sender, "opaque", content], 2: 0, 3: welcome, 4: groupInfo, 5: keyPackage },
  },
] as const satisfies Shape
/** Sections 7.1 and 7.8. */
const parentNode: Shape = ["opaque", "opaque", { list: 4, most: maxLeaves }]
const tree: Shape = {
  list: optional({ selector: 1, cases: { 1: leafNode, 2: parentNode } }),
  // A leaf more than a group may have: `decodeTree` refuses that one, and says why.
  most: 2 * maxLeaves + 1,
}

/** Exported for tests, which make structures of random form. */
export const shapes = { message, groupInfo, tree }
export type Kind = keyof typeof shapes
/**
 * Maximum number of list elements, without those of parts.
 *
 * A message adds or removes at most 256 devices. A removal has a path of 11 nodes to 2,048 recipients. In a tree, a leaf
 * has a parent, and is unmerged in at most 10 nodes.
 */
export const most = {
  message: maxProposals + leafCounts + 11 + 2_048,
  groupInfo: 2 * maxListExtensions,
  tree: maxLeaves * (leafCounts + 2 + 10),
}

/**
 * Checks that bytes have no more list elements than a structure of this kind may have.
 *
 * @throws MlsError MLS_TOO_LARGE. MLS_MALFORMED for a structure that this version does not decode.
 */
export function requireFew(bytes: Uint8Array, kind: Kind): void {
  let at = 0
  let left = most[kind]

  function number(size: number): number {
    demand(at + size <= bytes.length, "MLS_MALFORMED", "the bytes do not decode")
    let value = 0
    for (const end = at + size; at < end; at++) value = value * 256 + (bytes[at] ?? 0)
    return value
  }

  /** Reads a vector length (section 2.1.2), whose first two bits give its own size. */
  function length(): number {
    const first = number(1)
    demand(first < 0xc0, "MLS_MALFORMED", "the bytes do not decode")
    return first < 0x40 ? first : first < 0x80 ? (first % 0x40) * 256 + number(1) : (first % 0x40) * 2 ** 24 + number(3)
  }

  function count(elements: number): void {
    left -= elements
    demand(left >= 0, "MLS_TOO_LARGE", "more list elements than its kind may have")
  }

  /** Walks a list whose elements have a fixed size. */
  function walkFixed(size: number, mostElements = left): void {
    const elements = Math.ceil(length() / size)
    demand(elements <= mostElements, "MLS_TOO_LARGE", "more elements than this list may have")
    count(elements)
    at += elements * size
  }

  function walk(shape: Shape): void {
    if (shape === "opaque") at = length() + at
    else if (typeof shape === "number") at += shape
    else if ("list" in shape) {
      if (typeof shape.list === "number") {
        walkFixed(shape.list, shape.most)
        return
      }
      let room = shape.most ?? left
      for (const end = length() + at; at < end; room--) {
        demand(room > 0, "MLS_TOO_LARGE", "more elements than this list may have")
        count(1)
        walk(shape.list)
      }
    } else if ("part" in shape) {
      count(shape.counts)
      const outside = left
      left = shape.most
      walk(shape.part)
      left = outside
    } else if ("cases" in shape) {
      const inner = shape.cases[number(shape.selector)]
      demand(inner !== undefined, "MLS_MALFORMED", "the bytes do not decode")
      walk(inner)
    } else for (const each of shape) walk(each)
  }

  walk(shapes[kind])
}
