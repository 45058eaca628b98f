import { create, type DescMessage, type Message } from "@bufbuild/protobuf"
import fc from "fast-check"
import { compareBytes, toHex } from "../bytes.ts"
import { encode } from "../canonical.ts"
import { type FieldRules, rulesOf } from "../rules.ts"
import { samples } from "./samples.ts"

/** Every message type that has a sample. */
export const schemas: readonly DescMessage[] = [...new Set(samples.map(({ schema }) => schema))]

/** Random messages that satisfy every rule of their schema, with sorted sets. */
export function messageOf(schema: DescMessage): fc.Arbitrary<Message> {
  const { fields } = rulesOf(schema)
  const values = Object.fromEntries(fields.map((field) => [field.name, fieldOf(field)]))
  return fc.record(values).map((init) => Object.assign(create(schema), init))
}

function fieldOf(field: FieldRules): fc.Arbitrary<unknown> {
  if (field.message !== undefined) return listOf(field, field.message.schema)
  const value = scalarOf(field)
  return field.required ? value : fc.oneof(value, fc.constant(absentOf(field)))
}

function absentOf(field: FieldRules): unknown {
  return { number: 0, bigint: 0n, bytes: new Uint8Array(0), string: "", message: [] }[field.kind]
}

function scalarOf(field: FieldRules): fc.Arbitrary<unknown> {
  if (field.kind === "bytes") {
    return fc.uint8Array({ minLength: Number(field.min) || 1, maxLength: Math.min(Number(field.max), 300) })
  }
  if (field.kind === "string") {
    return fc.string({ unit: fc.constantFrom(..."abcxyz0189._:/-"), minLength: 1, maxLength: 128 })
  }
  const numbers =
    field.known === undefined
      ? fc.bigInt({ min: 1n, max: field.knownBits ?? field.max })
      : fc.constantFrom(...[...field.known].filter((known) => known !== 0n))
  return field.kind === "bigint" ? numbers : numbers.map(Number)
}

function listOf(field: FieldRules, element: DescMessage): fc.Arbitrary<Message[]> {
  const list = fc.uniqueArray(messageOf(element), {
    minLength: field.required ? 1 : 0,
    maxLength: Math.min(field.maxItems, 8),
    selector: (each) => toHex(encode(element, each)),
  })
  return field.set
    ? list.map((each) => each.toSorted((a, b) => compareBytes(encode(element, a), encode(element, b))))
    : list
}
