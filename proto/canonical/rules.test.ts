import { create, createFileRegistry, type DescMessage, type Message, setExtension } from "@bufbuild/protobuf"
import {
  FieldDescriptorProtoSchema,
  FieldOptionsSchema,
  FileDescriptorProtoSchema,
  file_google_protobuf_descriptor,
  FieldDescriptorProto_Label as Label,
  MessageOptionsSchema,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt"
import {
  canonical,
  FieldRuleSchema,
  file_signet_credential_v1_canonical_options,
  MessageRuleSchema,
  Repetition,
  rule,
} from "@signet/proto/credential/v1/canonical_options"
import { DeviceCredentialBodyV1Schema } from "@signet/proto/credential/v1/device_credential"
import { EnvelopeAadV1Schema } from "@signet/proto/credential/v1/envelope_aad"
import { expect, test } from "vitest"
import { rulesOf } from "./rules.ts"
import { schemas } from "./testing/arbitrary.ts"
import { codeOf } from "./testing/code-of.ts"

type FieldOf = { type: Type; typeName?: string; repeated?: boolean; optional?: boolean; rule?: Partial<Rule> }
type Rule = Omit<ReturnType<typeof create<typeof FieldRuleSchema>>, keyof Message>

/** A message "t.M" with one field and its nested messages, as if compiled from a schema. */
function compiled(field: FieldOf, maxSize = 100, oneof = false): DescMessage {
  const options = create(FieldOptionsSchema)
  if (field.rule !== undefined) setExtension(options, rule, create(FieldRuleSchema, field.rule))
  const messageOptions = create(MessageOptionsSchema)
  setExtension(messageOptions, canonical, create(MessageRuleSchema, { maxSize }))
  const descriptor = create(FieldDescriptorProtoSchema, {
    name: "f",
    number: 1,
    type: field.type,
    label: field.repeated ? Label.REPEATED : Label.OPTIONAL,
    typeName: field.typeName ?? "",
    options,
    ...((oneof || field.optional) && { oneofIndex: 0 }),
    proto3Optional: field.optional ?? false,
  })
  const file = create(FileDescriptorProtoSchema, {
    name: "t.proto",
    package: "t",
    syntax: "proto3",
    dependency: ["signet/credential/v1/canonical_options.proto"],
    messageType: [
      {
        name: "M",
        field: [descriptor],
        options: messageOptions,
        oneofDecl: oneof || field.optional ? [{ name: "_f" }] : [],
      },
    ],
  })
  const known = [file_signet_credential_v1_canonical_options, file_google_protobuf_descriptor]
  const registry = createFileRegistry(file, (name) => known.find((each) => `${each.name}.proto` === name))
  const message = registry.getMessage("t.M")
  if (message === undefined) throw new Error("t.M was not compiled")
  return message
}

const listOf = (stated: Partial<Rule>): FieldOf => {
  return { type: Type.MESSAGE, typeName: ".t.M", repeated: true, rule: stated }
}

test.each<[string, FieldOf]>([
  ["a string, which needs no rule", { type: Type.STRING }],
  ["a number, which needs no rule", { type: Type.UINT64 }],
  ["bytes of a stated length", { type: Type.BYTES, rule: { length: 16 } }],
  ["bytes of a stated limit", { type: Type.BYTES, rule: { maxLength: 16 } }],
])("%s has a canonical encoding", (_, field) => {
  expect(codeOf(() => rulesOf(compiled(field)))).toBe("ok")
})

test.each<[string, FieldOf, string]>([
  ["bytes of any length", { type: Type.BYTES }, "states no rule"],
  ["bytes with a rule but no length", { type: Type.BYTES, rule: { required: true } }, "states no length"],
  ["a bool", { type: Type.BOOL, rule: { required: true } }, "has a type"],
  ["a signed number", { type: Type.INT64, rule: { required: true } }, "has a type"],
  ["a zigzag number", { type: Type.SINT32, rule: { required: true } }, "has a type"],
  ["a fixed number", { type: Type.FIXED64, rule: { required: true } }, "has a type"],
  ["a float", { type: Type.DOUBLE, rule: { required: true } }, "has a type"],
  ["a list without the meaning of its order", listOf({ maxItems: 2 }), "states no repetition"],
  ["a list without a limit", listOf({ repetition: Repetition.SET }), "states no repetition"],
  [
    "a list of bytes",
    { ...listOf({ length: 1, maxItems: 2, repetition: Repetition.SET }), type: Type.BYTES },
    "repeats what is not",
  ],
  ["a field with presence of its own", { type: Type.UINT32, optional: true }, "has presence"],
  ["a single message", { type: Type.MESSAGE, typeName: ".t.M", rule: { required: true } }, "has presence"],
  ["a message within itself", listOf({ maxItems: 1, repetition: Repetition.SET }), "contains itself"],
])("%s has none", (_, field, reason) => {
  expect(() => rulesOf(compiled(field))).toThrow(new RegExp(`^CPB_SCHEMA: t.M(.f)? ${reason}`))
})

test("a oneof has none", () => {
  expect(codeOf(() => rulesOf(compiled({ type: Type.UINT32 }, 100, true)))).toBe("CPB_SCHEMA")
})

test("a message without max_size has none", () => {
  expect(codeOf(() => rulesOf(compiled({ type: Type.UINT32 }, 0)))).toBe("CPB_SCHEMA")
})

test("a signed device credential has at most 240 bytes", () => {
  const envelope = 1 + 2 + 3 + 10 + 66
  expect(rulesOf(DeviceCredentialBodyV1Schema).maxSize + envelope).toBe(240)
})

test("each kind of signed body has its own label, and unsigned messages have none", () => {
  const labels = schemas.map((schema) => rulesOf(schema).label).filter((label) => label !== "")
  expect(labels.toSorted()).toEqual([
    "claim-ticket/v1",
    "commit-receipt/v1",
    "device-credential/v1",
    "device-list/v1",
    "device-proof/v1",
    "device-request/v1",
    "issuer-keys/v1",
    "membership-proof/v1",
  ])
  expect(rulesOf(EnvelopeAadV1Schema).label).toBe("")
})
