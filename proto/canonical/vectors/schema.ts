import type { DescMessage } from "@bufbuild/protobuf"
import { type FieldRules, rulesOf } from "../rules.ts"

/** The rules of messages in plain JSON, for languages without generated descriptors. */
export function schemaJson(schemas: readonly DescMessage[]): object {
  const all = new Map<string, DescMessage>()
  const visit = (schema: DescMessage) => {
    all.set(schema.name, schema)
    for (const field of schema.fields) if (field.message !== undefined) visit(field.message)
  }
  schemas.forEach(visit)
  return Object.fromEntries([...all.entries()].sort().map(([name, schema]) => [name, messageJson(schema)]))
}

function messageJson(schema: DescMessage): object {
  const { maxSize, label, fields } = rulesOf(schema)
  const protoName = new Map(schema.fields.map((field) => [field.number, field.name]))
  return {
    max_size: maxSize,
    ...(label !== "" && { label }),
    fields: fields.map((field) => ({ number: field.number, name: protoName.get(field.number), ...fieldJson(field) })),
  }
}

function fieldJson(field: FieldRules): object {
  const isNumber = field.kind === "number" || field.kind === "bigint"
  return {
    kind: isNumber ? "number" : field.kind,
    required: field.required,
    // For a number its value; for bytes and strings their length.
    ...(field.message === undefined && { min: String(field.min), max: String(field.max) }),
    ...(field.known && { known: [...field.known].filter((value) => value !== 0n).map(Number) }),
    ...(field.knownBits !== undefined && { known_bits: Number(field.knownBits) }),
    ...(field.message && { message: field.message.schema.name }),
    ...(field.list && { repeated: field.set ? "set" : "ordered", max_items: field.maxItems }),
  }
}
