// Counts the list elements of MLS structures before decoding. Decoding costs microseconds per element, and an element
// can be as short as two bytes.
import { maxLeafElements } from "@signet/canonical/leaf-elements"
import { maxLeaves } from "./kit.ts"
import { demand } from "./refusal.ts"

/** A fixed number of bytes, an opaque vector, consecutive fields, a list, or a variant with its selector. */
type Shape = number | "opaque" | readonly Shape[] | List | Selected
interface List {
  readonly list: Shape
  /** The decoding cost of an element without its inner lists, relative to an element of two bytes. Default: 1. */
  readonly weight?: number
}
interface Selected {
  /** The length of the selector in bytes. */
  readonly selector: number
  /** The variants by selector value. Other values are refused as malformed. */
  readonly cases: Readonly<Record<number, Shape>>
}

const optional = (shape: Shape): Shape => ({ selector: 1, cases: { 0: 0, 1: shape } })

// The structures of RFC 9420, up to their last list. Sections 5.3 and 7.2.
const extensions: Shape = { list: [2, "opaque"] }
const types: Shape = { list: 2 }
const credential: Shape = { selector: 2, cases: { 1: "opaque", 2: { list: "opaque" } } }
const source: Shape = { selector: 1, cases: { 1: 16, 2: 0, 3: "opaque" } }
const capabilities = [types, types, types, types, types]
const leafNode: Shape = ["opaque", "opaque", credential, capabilities, source, extensions, "opaque"]
/** Section 10. */
const keyPackage: Shape = [4, "opaque", leafNode, extensions, "opaque"]
/** Section 12.4.3. */
const groupContext: Shape = [4, "opaque", 8, "opaque", "opaque", extensions]
const groupInfo: Shape = [groupContext, extensions]
const sealed: Shape = ["opaque", "opaque"]
const welcome: Shape = [2, { list: ["opaque", sealed], weight: 4 }]
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
const commit: Shape = [
  { list: { selector: 1, cases: { 1: proposal, 2: "opaque" } }, weight: 16 },
  optional([leafNode, { list: ["opaque", { list: sealed, weight: 4 }], weight: 16 }]),
]
/** Section 6. */
const sender: Shape = { selector: 1, cases: { 1: 4, 2: 4, 3: 0, 4: 0 } }
const content: Shape = { selector: 1, cases: { 1: "opaque", 2: proposal, 3: commit } }
const message: Shape = [
  2,
  {
    selector: 2,
    cases: { 1: ["opaque", 8, sender, "opaque", content], 2: 0, 3: welcome, 4: groupInfo, 5: keyPackage },
  },
]
/** Sections 7.1 and 7.8. */
const parentNode: Shape = ["opaque", "opaque", { list: 4 }]
const tree: Shape = { list: optional({ selector: 1, cases: { 1: leafNode, 2: parentNode } }), weight: 16 }

const shapes = { message, groupInfo, tree }
export type Kind = keyof typeof shapes
/**
 * Maximum weight of all list elements: at least that of the largest structures that the service accepts.
 *
 * A commit adds at most 256 devices, each an element of weight 16 and its leaf (12,288 in all), or removes 256 with a
 * path of 11 nodes to 2,048 recipients (12,496). In a tree, a leaf has a parent, and is unmerged in at most 10 nodes.
 */
const most = { message: 16_000, groupInfo: 16_000, tree: maxLeaves * (2 * 16 + maxLeafElements + 10) }

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

  function walk(shape: Shape): void {
    if (shape === "opaque") at = length() + at
    else if (typeof shape === "number") at += shape
    else if ("list" in shape) {
      for (const end = length() + at; at < end; ) {
        left -= shape.weight ?? 1
        demand(left >= 0, "MLS_TOO_LARGE", "more list elements than its kind may have")
        walk(shape.list)
      }
    } else if ("cases" in shape) {
      const inner = shape.cases[number(shape.selector)]
      demand(inner !== undefined, "MLS_MALFORMED", "the bytes do not decode")
      walk(inner)
    } else for (const each of shape) walk(each)
  }

  walk(shapes[kind])
}
