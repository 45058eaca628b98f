import { concat } from "../bytes.ts"
import { varint } from "../varint.ts"
import { join, split, type Tlv, withContent } from "./tlv.ts"

/** Deterministic random numbers 0 <= n < below for a seed (mulberry32). */
export function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

type Random = ReturnType<typeof randomOf>
type Mutation = (bytes: Uint8Array, random: Random) => Uint8Array

const flipBit: Mutation = (bytes, random) => {
  const at = random(bytes.length)
  const bit = 1 << random(8)
  return bytes.map((byte, i) => (i === at ? byte ^ bit : byte))
}
const setByte: Mutation = (bytes, random) => {
  const at = random(bytes.length)
  const value = random(256)
  return bytes.map((byte, i) => (i === at ? value : byte))
}
const dropByte: Mutation = (bytes, random) => {
  const at = random(bytes.length)
  return bytes.filter((_, i) => i !== at)
}
const addByte: Mutation = (bytes, random) => {
  const at = random(bytes.length + 1)
  return concat(bytes.subarray(0, at), Uint8Array.of(random(256)), bytes.subarray(at))
}
const cutOff: Mutation = (bytes, random) => bytes.subarray(0, random(bytes.length))
const repeatSlice: Mutation = (bytes, random) => {
  const from = random(bytes.length)
  return concat(bytes, bytes.subarray(from, from + random(40)))
}

/** Mutates whole fields, so that the result still looks like a message. */
const byField =
  (change: (fields: Tlv[], at: number, random: Random) => Tlv[]): Mutation =>
  (bytes, random) => {
    try {
      const fields = split(bytes)
      return fields.length === 0 ? bytes : join(change(fields, random(fields.length), random))
    } catch {
      return bytes
    }
  }
const dropField = byField((fields, at) => fields.toSpliced(at, 1))
const copyField = byField((fields, at, random) =>
  fields.toSpliced(random(fields.length), 0, ...fields.slice(at, at + 1)),
)
const swapFields = byField((fields, at) => fields.toSpliced(at, 2, ...fields.slice(at, at + 2).toReversed()))
const renumber = byField((fields, at, random) =>
  fields.map((f, i) => (i === at ? { ...f, number: BigInt(1 + random(20)) } : f)),
)
const otherNumber = byField((fields, at, random) =>
  fields.map((f, i) =>
    i === at && f.wire === 0n ? { ...f, value: BigInt(random(2 ** 32)) >> BigInt(random(32)) } : f,
  ),
)
const otherContent: Mutation = byField((fields, at, random) =>
  fields.map((f, i) => (i === at && f.content.length > 0 ? withContent(f, mutate(f.content, random)) : f)),
)
const padVarint: Mutation = (bytes, random) => {
  const at = random(bytes.length)
  const byte = bytes[at] ?? 0
  return byte >= 0x80 ? bytes : concat(bytes.subarray(0, at), Uint8Array.of(byte | 0x80, 0), bytes.subarray(at + 1))
}
const largeField: Mutation = (bytes, random) => concat(bytes, varint(BigInt(random(2 ** 32)) << 3n), Uint8Array.of(1))

const mutations: readonly Mutation[] = [
  flipBit,
  setByte,
  dropByte,
  addByte,
  cutOff,
  repeatSlice,
  dropField,
  copyField,
  swapFields,
  renumber,
  otherNumber,
  otherNumber,
  otherContent,
  otherContent,
  otherContent,
  padVarint,
  largeField,
]

/** Applies one to three mutations; empty input stays empty. */
export function mutate(bytes: Uint8Array, random: Random): Uint8Array {
  let mutated = bytes
  for (let count = 1 + random(3); count > 0 && mutated.length > 0; count--) {
    mutated = (mutations[random(mutations.length)] ?? flipBit)(mutated, random)
  }
  return mutated
}
