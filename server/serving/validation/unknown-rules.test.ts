// A schema with an unknown rule is not served: a message is checked by all of its rules, or refused.
import {
  create,
  createFileRegistry,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  setExtension,
} from "@bufbuild/protobuf"
import {
  type FieldDescriptorProtoSchema,
  FieldOptionsSchema,
  FileDescriptorProtoSchema,
  file_google_protobuf_duration,
  file_google_protobuf_timestamp,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt"
import { FieldRulesSchema, field as fieldOption, Ignore } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js"
import { ExternalLoginResponseSchema } from "@signet/proto/auth/v1/auth_service"
import { describe, expect, test } from "vitest"
import { planOf } from "./plan.ts"

type Rules = MessageInitShape<typeof FieldRulesSchema>
type Field = MessageInitShape<typeof FieldDescriptorProtoSchema>

/** A message with one field of these rules. */
function schemaOf(field: Field, rules: Rules): DescMessage {
  const options = create(FieldOptionsSchema)
  setExtension(options, fieldOption, create(FieldRulesSchema, rules))
  const file = create(FileDescriptorProtoSchema, {
    name: "rules.proto",
    syntax: "proto3",
    dependency: ["google/protobuf/duration.proto", "google/protobuf/timestamp.proto"],
    messageType: [{ name: "Ruled", field: [{ name: "value", number: 1, label: Label.OPTIONAL, options, ...field }] }],
  })
  const known = [file_google_protobuf_duration, file_google_protobuf_timestamp]
  const registry = createFileRegistry(file, (name) => known.find(({ proto }) => proto.name === name)?.proto)
  const desc = registry.getMessage("Ruled")
  if (desc === undefined) throw new Error("there is no such message")
  return desc
}

const text: Field = { type: Type.STRING }
const duration: Field = { type: Type.MESSAGE, typeName: ".google.protobuf.Duration" }
const timestamp: Field = { type: Type.MESSAGE, typeName: ".google.protobuf.Timestamp" }
const pattern = (pattern: string): Rules => ({ type: { case: "string", value: { pattern } } })

describe("is refused for", () => {
  test.each<[string, Field, Rules, RegExp]>([
    [
      "a format",
      text,
      { type: { case: "string", value: { wellKnown: { case: "email", value: true } } } },
      /says email/,
    ],
    ["a prefix", text, { type: { case: "string", value: { prefix: "a" } } }, /says prefix/],
    ["an expression", text, { cel: [{ id: "a", expression: "this == 'a'", message: "no" }] }, /says this == 'a'/],
    ["a number's set", { type: Type.UINT32 }, { type: { case: "uint32", value: { in: [1] } } }, /says in/],
    ["a float", { type: Type.FLOAT }, { type: { case: "float", value: { finite: true } } }, /says float/],
    ["a range that is none", { type: Type.INT32 }, outside(), /excludes what is between/],
    ["a set of durations", duration, { type: { case: "duration", value: { in: [{ seconds: 1n }] } } }, /says in/],
    ["a part of a second", duration, notAfter({ seconds: 1n, nanos: 1 }), /a part of a second/],
    [
      "the present",
      timestamp,
      { type: { case: "timestamp", value: { lessThan: { case: "ltNow", value: true } } } },
      /says lt_now/,
    ],
    ["any other rule of a message", duration, { type: { case: "any", value: { in: ["a"] } } }, /says any/],
    ["a rule of numbers on a duration", duration, { type: { case: "int32", value: {} } }, /rules of int32/],
    ["a rule of durations on a text", text, { type: { case: "duration", value: {} } }, /rules of duration/],
    ["a rule of texts on a list", { ...text, label: Label.REPEATED }, pattern("^a$"), /rules of string/],
    ["a rule of a list's messages", { ...duration, label: Label.REPEATED }, ofItems(), /rules of messages/],
    [
      "different messages in a list",
      { ...duration, label: Label.REPEATED },
      { type: { case: "repeated", value: { unique: true } } },
      /unique messages/,
    ],
    ["an expression without a message", text, { cel: [{ id: "a", expression: "size(this) in [1]" }] }, /says size/],
    ["a rule of a later version", text, fromBinary(FieldRulesSchema, later), /says #9999/],
  ])("%s", (_, field, rules, why) => {
    const schema = schemaOf(field, rules)
    expect(() => planOf(schema)).toThrow(why)
    // Nothing of it was kept: a second look refuses it as well.
    expect(() => planOf(schema)).toThrow(why)
  })

  test.each([
    "a",
    "^a",
    "a$",
    "^.$",
    "^[^a]$",
    "^[[:alpha:]]$",
    "^\\d$",
    "^[\\d]$",
    "^[a&&b]$",
    "^[é]$",
    "^(?i)a$",
    "^(a+)+$",
    "^(a){2}$",
    "^([a.]*){1,5}$",
    "^(\\.[a.]*){1,5}$",
    "^(\\.[a]*)+$",
    "^(\\.[a]*){1,}$",
    "^a+$",
  ])("the pattern %s, which two engines may read differently or slowly", (text) => {
    expect(() => planOf(schemaOf({ type: Type.STRING }, pattern(text)))).toThrow(/pattern/)
  })
})

test("is refused for a map", () => {
  expect(() => planOf(ExternalLoginResponseSchema)).toThrow(/access_tokens: a map/)
})

/** Returns the violations of each value under the rules of this field, in order. */
function toldOf(field: Field, rules: Rules, ...values: unknown[]): string[] {
  const schema = schemaOf(field, rules)
  const violations = planOf(schema)
  return values.map((value) =>
    violations(create(schema, { value } as never))
      .map(({ description }) => description)
      .join(),
  )
}

test.each<[string, Field, Rules, unknown[], string[]]>([
  [
    "a length",
    text,
    { type: { case: "string", value: { len: 2n } } },
    ["ab", "a😀", "abc"],
    ["", "", "must be 2 characters"],
  ],
  [
    "bytes at least",
    text,
    { type: { case: "string", value: { minBytes: 3n } } },
    ["é1", "ab"],
    ["", "must be at least 3 bytes"],
  ],
  ["an ignored rule", text, { ignore: Ignore.ALWAYS, type: { case: "string", value: { len: 2n } } }, ["abc"], [""]],
  [
    "a list that may be empty",
    { ...text, label: Label.REPEATED },
    { ignore: Ignore.IF_ZERO_VALUE, type: { case: "repeated", value: { minItems: 2n } } },
    [[], ["a"]],
    ["", "must contain at least 2 item(s)"],
  ],
  [
    "a list without a bound",
    { ...text, label: Label.REPEATED },
    { type: { case: "repeated", value: { minItems: 1n } } },
    [["a", "b", "c"]],
    [""],
  ],
  [
    "different bytes",
    { type: Type.BYTES, label: Label.REPEATED },
    { type: { case: "repeated", value: { unique: true } } },
    [
      [Uint8Array.of(1), Uint8Array.of(2)],
      [Uint8Array.of(1), Uint8Array.of(1)],
    ],
    ["", "repeated value must contain unique items"],
  ],
  ["a number without a range", { type: Type.INT32 }, { type: { case: "int32", value: {} } }, [7], [""]],
  [
    "a number at least and at most",
    { type: Type.INT32 },
    {
      type: {
        case: "int32",
        value: { greaterThan: { case: "gte", value: 2 }, lessThan: { case: "lte", value: 4 } },
      },
    },
    [1, 2, 4, 5],
    [
      "must be greater than or equal to 2 and less than or equal to 4",
      "",
      "",
      "must be greater than or equal to 2 and less than or equal to 4",
    ],
  ],
  [
    "a number above and below",
    { type: Type.INT32 },
    {
      type: { case: "int32", value: { greaterThan: { case: "gt", value: 2 }, lessThan: { case: "lt", value: 4 } } },
    },
    [2, 3, 4],
    ["must be greater than 2 and less than 4", "", "must be greater than 2 and less than 4"],
  ],
  ["no URI", text, { type: { case: "string", value: { wellKnown: { case: "uri", value: false } } } }, ["no uri"], [""]],
])("a value is validated by %s", (_, field, rules, values, told) => {
  expect(toldOf(field, rules, ...values)).toEqual(told)
})

function ofItems(): Rules {
  return { type: { case: "repeated", value: { items: { type: { case: "duration", value: {} } } } } }
}

/** Field 14 (string) with an unknown field number 9999. */
const later = Uint8Array.of(0x72, 4, 0xf8, 0xf0, 0x04, 1)

function outside(): Rules {
  const greaterThan = { case: "gt", value: 5 } as const
  return { type: { case: "int32", value: { greaterThan, lessThan: { case: "lt", value: 1 } } } }
}

function notAfter(value: { seconds: bigint; nanos: number }): Rules {
  return { type: { case: "duration", value: { lessThan: { case: "lte", value } } } }
}

test.each(["^a$", "^https?://[a-z]{1,5}(:[0-9]+)?$", "^[!#-\\[\\]-~]$", "^[a-z]+(\\.[a-z_]*){1,5}$", "^(a|b)$"])(
  "the pattern %s is known",
  (text) => expect(() => planOf(schemaOf({ type: Type.STRING }, pattern(text)))).not.toThrow(),
)
