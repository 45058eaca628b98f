import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf"
import { descriptionOf, isPlain, type Plain, plainIn, type ReadOption } from "./options.ts"

/** JSON Schema (2020-12) of messages in proto3 JSON; each message is one component. */
export interface Schemas {
  readonly components: Plain
  readonly reference: (desc: DescMessage) => Plain
  readonly fieldSchema: (field: DescField) => Plain
  readonly objectSchema: (desc: DescMessage, fields: readonly DescField[]) => Plain
}

export function createSchemas(read: ReadOption): Schemas {
  const components: Plain = {}

  function reference(desc: DescMessage): Plain {
    if (desc.typeName.startsWith("google.protobuf.")) {
      const known = wellKnown[desc.name]
      if (known === undefined) throw new Error(`${desc.typeName} has no schema`)
      return known
    }
    if (!Object.hasOwn(components, desc.typeName)) {
      // Reserved first, because a message may contain itself.
      components[desc.typeName] = {}
      components[desc.typeName] = objectSchema(desc, desc.fields)
    }
    return { $ref: `#/components/schemas/${desc.typeName}` }
  }

  function objectSchema(desc: DescMessage, fields: readonly DescField[]): Plain {
    const required = fields.filter((field) => isRequired(field, read)).map((field) => field.jsonName)
    return {
      type: "object",
      title: desc.name,
      ...descriptionOf(desc),
      properties: Object.fromEntries(fields.map((field) => [field.jsonName, fieldSchema(field)])),
      ...(required.length > 0 ? { required } : {}),
      additionalProperties: false,
    }
  }

  function fieldSchema(field: DescField): Plain {
    const rules = read(field, "buf.validate.field")
    const one = (of: unknown): Plain => ({ ...valueSchema(field), ...keywords(of) })
    const about = { ...descriptionOf(field), ...(field.proto.options?.deprecated ? { deprecated: true } : {}) }
    switch (field.fieldKind) {
      case "list": {
        const repeated = plainIn(rules, "repeated")
        return { type: "array", items: one(plainIn(repeated, "items")), ...about, ...keywords(rules) }
      }
      case "map":
        return { type: "object", additionalProperties: valueSchema(field), ...about }
      default:
        return { ...one(rules), ...about }
    }
  }

  function valueSchema(field: DescField): Plain {
    if (field.message) return reference(field.message)
    if (field.enum) {
      // Zero means unspecified, and is never sent.
      const names = field.enum.values.filter(({ number }) => number !== 0).map(({ name }) => name)
      return { type: "string", title: field.enum.name, enum: names }
    }
    return field.scalar === undefined ? {} : scalarSchema(field.scalar)
  }

  return { components, reference, fieldSchema, objectSchema }
}

const wellKnown: Record<string, Plain> = {
  Timestamp: { type: "string", format: "date-time" },
  Duration: { type: "string", pattern: "^-?[0-9]+(\\.[0-9]{1,9})?s$" },
  FieldMask: { type: "string" },
  Struct: { type: "object" },
  Value: {},
  ListValue: { type: "array" },
}

function scalarSchema(scalar: ScalarType): Plain {
  switch (scalar) {
    case ScalarType.BOOL:
      return { type: "boolean" }
    case ScalarType.STRING:
      return { type: "string" }
    case ScalarType.BYTES:
      return { type: "string", contentEncoding: "base64" }
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return { type: "number" }
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return { type: "string", format: "int64" }
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return { type: "string", format: "uint64" }
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return { type: "integer", minimum: 0 }
    default:
      return { type: "integer", format: "int32" }
  }
}

/** A field's buf.validate rules as JSON Schema keywords, as far as possible. */
function keywords(rules: unknown): Plain {
  const text = { ...plainIn(rules, "string"), ...plainIn(rules, "bytes") }
  const number = { ...plainIn(rules, "int32"), ...plainIn(rules, "uint32") }
  const list = plainIn(rules, "repeated")
  const all: Plain = {
    minLength: text.min_len ?? text.len,
    maxLength: text.max_len ?? text.len,
    pattern: text.pattern,
    minimum: number.gte,
    maximum: number.lte,
    exclusiveMinimum: number.gt,
    exclusiveMaximum: number.lt,
    minItems: list.min_items,
    maxItems: list.max_items,
    uniqueItems: list.unique,
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

/** True if the field's absence breaks its own rule. */
function isRequired(field: DescField, read: ReadOption): boolean {
  const rules = read(field, "buf.validate.field")
  if (!isPlain(rules) || rules.ignore === "IGNORE_IF_ZERO_VALUE" || field.oneof) return false
  const text = plainIn(rules, "string")
  const refused = plainIn(rules, "enum").not_in
  return (
    rules.required === true ||
    Number(text.min_len ?? text.len ?? 0) > 0 ||
    text.pattern !== undefined ||
    (Array.isArray(refused) && refused.includes(0))
  )
}
