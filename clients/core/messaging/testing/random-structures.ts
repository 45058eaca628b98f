// Structures of random form with as many list elements as the client decodes: for costs that no hand-made one shows.
import { most, type Shape, shapes } from "../engine/shape.ts"
import { maxBytes, strictMessage } from "../engine/strict.ts"
import { decodeTree } from "../engine/tree-bytes.ts"

const lists = [0, 1, 3, 32, 1e6, 1e6, 1e6]
const wireformats = { mls_public_message: 1, mls_welcome: 3, mls_group_info: 4, mls_key_package: 5 } as const
const names = ["mls_public_message", "mls_welcome", "mls_group_info", "mls_key_package"] as const

interface RandomStructure {
  readonly wireformat: keyof typeof wireformats | "tree"
  readonly bytes: Uint8Array
  readonly decode: (bytes: Uint8Array) => unknown
}

/** @param random Uniform in 0 <= x < 1. */
export function randomStructure(random: () => number): RandomStructure {
  const wireformat = random() < 0.3 ? "tree" : pick(names, random)
  const make = maker(random, wireformat === "tree" ? most.tree : most.message)
  if (wireformat === "tree") return { wireformat, bytes: Uint8Array.from(make(shapes.tree)), decode: decodeTree }
  // Shapes end at their last list. Three keys follow in a commit; the others are decoded up to what follows.
  const bytes = [0, 1, ...make(shapes.message[1], wireformats[wireformat]), ...new Array(3).fill(key).flat()]
  return {
    wireformat,
    bytes: Uint8Array.from(bytes),
    decode: (given) => strictMessage(given, maxBytes.commit, wireformat),
  }
}

const key = vector(new Array(32).fill(7))

function maker(random: () => number, mostElements: number) {
  let left = mostElements

  function make(shape: Shape, wanted?: number): number[] {
    if (shape === "opaque") return random() < 0.5 ? [0] : key
    // Versions, suites and types are 1.
    if (typeof shape === "number") return shape === 1 ? [1] : Array.from({ length: shape }, (_, i) => i % 2)
    if ("list" in shape) return vector(elements(shape, Math.min(pick(lists, random), shape.most ?? 1e6)))
    if ("part" in shape) {
      const outside = left - shape.counts
      left = Math.min(shape.most, outside)
      const made = make(shape.part)
      left = outside
      return made
    }
    if ("cases" in shape) {
      const selected = wanted ?? pick(Object.keys(shape.cases).map(Number), random)
      return [
        ...(shape.selector === 1 ? [selected] : [selected >> 8, selected & 255]),
        ...make(shape.cases[selected] ?? 0),
      ]
    }
    return shape.flatMap((each) => make(each))
  }

  function elements(list: Extract<Shape, { list: unknown }>, count: number): number[] {
    const made: number[][] = []
    while (made.length < count && left > 0) {
      left--
      made.push(make(list.list))
    }
    return made.flat()
  }

  return make
}

function pick<T>(values: readonly T[], random: () => number): T {
  const value = values[Math.floor(random() * values.length)]
  if (value === undefined) throw new RangeError("nothing to pick from")
  return value
}

function vector(bytes: readonly number[]): number[] {
  const size = bytes.length
  if (size < 64) return [size, ...bytes]
  if (size < 16_384) return [0x40 | (size >> 8), size & 255].concat(bytes)
  return [0x80 | (size >> 24), (size >> 16) & 255, (size >> 8) & 255, size & 255].concat(bytes)
}
