// One example per message in proto3 JSON, from its descriptor and rules.
import { type DescField, type DescMessage, type DescMethod, ScalarType } from "@bufbuild/protobuf"
import { enumValues, exampleBytes, exampleText, requestFields } from "./example-values.ts"
import { descriptionOf, type Plain, plainIn, type ReadOption } from "./options.ts"

export interface Examples {
  /** A response message with all its fields. */
  readonly response: (desc: DescMessage) => Plain
  /** The fields of a request that a caller sets. */
  readonly request: (method: DescMethod, fields: readonly DescField[]) => Plain
  readonly field: (field: DescField, isRequest: boolean) => unknown
}

/** google.api.FieldBehavior by number, because the option reader has no generated code. */
const outputOnly = 3

const now = "2026-01-15T09:30:00Z"
const later = "2026-01-15T10:30:00Z"

/** Fields that a caller sends only in special cases. */
const isSpecial = (field: DescField): boolean =>
  field.name === "page_token" ||
  /^(Empty, or|In cookie mode|Ignored)|instead of/.test(descriptionOf(field).description ?? "")

export function createExamples(read: ReadOption): Examples {
  const isOutput = (field: DescField): boolean => {
    const behavior = read(field, "google.api.field_behavior")
    return Array.isArray(behavior) && behavior.includes(outputOnly)
  }

  function message(fields: readonly DescField[], isRequest: boolean, within: readonly string[]): Plain {
    const masked = isRequest ? fields.find(({ name }) => name === "update_mask") : undefined
    if (masked !== undefined) return update(fields, masked)
    const out: Plain = {}
    for (const field of fields) {
      if (field.oneof !== undefined && field !== field.oneof.fields[0]) continue
      if (isRequest && (isOutput(field) || isSpecial(field))) continue
      const value = fieldExample(field, isRequest, within)
      if (value !== undefined) out[field.jsonName] = value
    }
    return out
  }

  /** An update of one field. */
  function update(fields: readonly DescField[], mask: DescField): Plain {
    const resource = fields.find((field) => field.message !== undefined && field !== mask)
    const all = resource?.message?.fields.filter((field) => !isOutput(field)) ?? []
    const changed = all.find(({ name }) => /^(name|display_name|description|profile)$/.test(name)) ?? all[0]
    const others = message(
      fields.filter((field) => field !== mask && field !== resource),
      true,
      [],
    )
    if (resource === undefined || changed === undefined) return others
    const value = fieldExample(changed, true, [])
    return { ...others, [resource.jsonName]: { [changed.jsonName]: value }, [mask.jsonName]: changed.jsonName }
  }

  function fieldExample(field: DescField, isRequest: boolean, within: readonly string[]): unknown {
    const rules = read(field, "buf.validate.field")
    switch (field.fieldKind) {
      case "list": {
        const repeated = plainIn(rules, "repeated")
        if (repeated.max_items === 0) return undefined
        const item = one(field, plainIn(repeated, "items"), true, isRequest, within)
        return item === undefined ? undefined : [item]
      }
      case "map":
        return {
          [/audience|Tokens$/.test(field.jsonName) ? "https://notes.example.com" : "key"]: one(
            field,
            {},
            true,
            isRequest,
            within,
          ),
        }
      default:
        return one(field, rules, false, isRequest, within)
    }
  }

  function one(
    field: DescField,
    rules: unknown,
    isItem: boolean,
    isRequest: boolean,
    within: readonly string[],
  ): unknown {
    if (field.message !== undefined) {
      const known = wellKnown(field, field.message)
      if (known !== undefined) return known
      const { typeName, fields } = field.message
      if (within.includes(typeName)) return undefined
      const chosen = isRequest ? requestFields[typeName] : undefined
      const shown = chosen ? fields.filter(({ jsonName }) => chosen.includes(jsonName)) : fields
      return message(shown, isRequest, [...within, typeName])
    }
    if (field.enum !== undefined) {
      const allowed = plainIn(rules, "enum").in
      const refused = plainIn(rules, "enum").not_in
      const preferred = enumValues[field.enum.typeName]
      if (preferred !== undefined) return preferred
      return field.enum.values.find(
        ({ number }) =>
          number !== 0 &&
          (!Array.isArray(allowed) || allowed.includes(number)) &&
          !(Array.isArray(refused) && refused.includes(number)),
      )?.name
    }
    return scalar(field, rules, isItem)
  }

  return {
    response: (desc) => message(desc.fields, false, [desc.typeName]),
    request(method, fields) {
      const chosen = requestFields[`${method.parent.name}.${method.name}`]
      return message(chosen ? fields.filter(({ jsonName }) => chosen.includes(jsonName)) : fields, true, [])
    },
    field: (field, isRequest) => fieldExample(field, isRequest, []),
  }
}

function scalar(field: DescField, rules: unknown, isItem: boolean): unknown {
  const number = (of: unknown): number | undefined => (typeof of === "number" ? of : undefined)
  const comment = descriptionOf(field).description ?? ""
  switch (field.scalar) {
    case ScalarType.STRING: {
      const text = plainIn(rules, "string")
      const pattern = typeof text.pattern === "string" ? text.pattern : undefined
      const limits = {
        length: number(text.len),
        min: number(text.min_len),
        max: number(text.max_len ?? text.max_bytes),
      }
      return exampleText({ name: field.jsonName, comment, isItem, pattern, ...limits })
    }
    case ScalarType.BYTES: {
      const bytes = plainIn(rules, "bytes")
      const length =
        number(bytes.len) ?? Math.max(number(bytes.min_len) ?? 0, Math.min(32, number(bytes.max_len) ?? 32))
      return exampleBytes(field.jsonName, length)
    }
    case ScalarType.BOOL:
      return field.name === "active"
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return "1"
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return 1
    default:
      return integer(field, { ...plainIn(rules, "int32"), ...plainIn(rules, "uint32") })
  }
}

function integer(field: DescField, rules: Plain): number {
  if (/seconds$|expires_in$/.test(field.name)) return Number(rules.gte ?? 300)
  if (/^(exp|iat|nbf|.*_at)$/.test(field.name)) return 1768469400
  if (field.name === "page_size") return 50
  return Math.max(1, Number(rules.gte ?? (rules.gt === undefined ? 1 : Number(rules.gt) + 1)))
}

/** Google's well-known types in proto3 JSON. */
function wellKnown(field: DescField, desc: DescMessage): unknown {
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      return /expir|until|end|due|not_after/.test(field.name) ? later : now
    case "google.protobuf.Duration":
      return "3600s"
    case "google.protobuf.FieldMask":
      return "name"
    case "google.protobuf.Struct":
      return {}
    default:
      return desc.typeName.startsWith("google.protobuf.") ? null : undefined
  }
}
