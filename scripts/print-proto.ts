// Prints a .proto file from its descriptor: for schemas that npm ships only as generated code.
import {
  createRegistry,
  type DescExtension,
  type DescFile,
  type DescMessage,
  getExtension,
  hasExtension,
  isFieldSet,
  type Message,
} from "@bufbuild/protobuf"
import { reflect } from "@bufbuild/protobuf/reflect"
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  EnumOptionsSchema,
  EnumValueOptionsSchema,
  ExtensionRangeOptionsSchema,
  type FieldDescriptorProto,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  FieldOptionsSchema,
  FileOptionsSchema,
  MessageOptionsSchema,
  OneofOptionsSchema,
} from "@bufbuild/protobuf/wkt"

const maxFieldNumber = 0x20000000

const scalarNames = new Map<number, string>(
  Object.entries(FieldDescriptorProto_Type).flatMap(([name, number]) =>
    typeof number === "number" ? [[number, name.toLowerCase()] as const] : [],
  ),
)

/** True for a member of a written `oneof`; a proto3 `optional` field is in a oneof that nobody wrote. */
export const isInOneof = (field: FieldDescriptorProto): boolean =>
  isFieldSet(field, FieldDescriptorProtoSchema.field.oneofIndex) && !field.proto3Optional

/** The source of a file. Comments are gone; all else compiles to the same descriptor. */
export function printProto(file: DescFile): string {
  const registry = createRegistry(file)
  const lines: string[] = []
  const print = (depth: number, line: string) => lines.push("  ".repeat(depth) + line)

  const textOf = (desc: DescMessage, message: Message): string[] => {
    const fields = reflect(desc, message)
    return desc.fields
      .filter((field) => fields.isSet(field))
      .flatMap((field) => {
        const value: unknown = fields.get(field)
        const values = field.fieldKind === "list" ? [...(value as Iterable<unknown>)] : [value]
        return values.map((one) => `${field.name}: ${literal(field.enum?.value, field.message, one)}`)
      })
  }
  const literal = (
    names: Record<number, { name: string }> | undefined,
    desc: DescMessage | undefined,
    value: unknown,
  ): string => {
    if (names) return names[value as number]?.name ?? String(value)
    if (desc) return `{${textOf(desc, (value as { message: Message }).message).join(" ")}}`
    return typeof value === "string" ? JSON.stringify(value) : String(value)
  }
  const optionsOf = (desc: DescMessage, options: Message | undefined): string[] => {
    if (!options) return []
    const own = textOf(desc, options).map((text) => text.replace(": ", " = "))
    for (const type of registry) {
      if (type.kind !== "extension" || type.extendee.typeName !== desc.typeName || !hasExtension(options, type))
        continue
      const { message } = type as DescExtension
      if (message)
        own.push(`(.${type.typeName}) = {${textOf(message, getExtension(options, type) as Message).join(" ")}}`)
    }
    return own
  }
  const bracketed = (options: string[]) => (options.length > 0 ? ` [${options.join(", ")}]` : "")

  const labelOf = (field: FieldDescriptorProto): string => {
    if (isInOneof(field)) return ""
    if (field.label === FieldDescriptorProto_Label.REPEATED) return "repeated "
    if (field.label === FieldDescriptorProto_Label.REQUIRED) return "required "
    return file.proto.syntax !== "proto3" || field.proto3Optional ? "optional " : ""
  }
  const printField = (depth: number, field: FieldDescriptorProto) => {
    const options = optionsOf(FieldOptionsSchema, field.options)
    if (field.defaultValue) {
      const quoted =
        field.type === FieldDescriptorProto_Type.STRING ? JSON.stringify(field.defaultValue) : field.defaultValue
      options.unshift(`default = ${quoted}`)
    }
    const type = field.typeName || scalarNames.get(field.type)
    print(depth, `${labelOf(field)}${type} ${field.name} = ${field.number}${bracketed(options)};`)
  }
  const printEnum = (depth: number, type: EnumDescriptorProto) => {
    print(depth, `enum ${type.name} {`)
    for (const option of optionsOf(EnumOptionsSchema, type.options)) print(depth + 1, `option ${option};`)
    for (const value of type.value) {
      print(depth + 1, `${value.name} = ${value.number}${bracketed(optionsOf(EnumValueOptionsSchema, value.options))};`)
    }
    for (const range of type.reservedRange) print(depth + 1, `reserved ${range.start} to ${range.end};`)
    printReservedNames(depth + 1, type.reservedName)
    print(depth, "}")
  }
  const printReservedNames = (depth: number, names: string[]) => {
    if (names.length > 0) print(depth, `reserved ${names.map((name) => JSON.stringify(name)).join(", ")};`)
  }
  const printExtensions = (depth: number, extensions: FieldDescriptorProto[]) => {
    for (const extension of extensions) {
      print(depth, `extend ${extension.extendee} {`)
      printField(depth + 1, extension)
      print(depth, "}")
    }
  }
  const printMessage = (depth: number, message: DescriptorProto) => {
    print(depth, `message ${message.name} {`)
    for (const option of optionsOf(MessageOptionsSchema, message.options)) print(depth + 1, `option ${option};`)
    for (const field of message.field) if (!isInOneof(field)) printField(depth + 1, field)
    for (const [index, oneof] of message.oneofDecl.entries()) {
      const members = message.field.filter((field) => isInOneof(field) && field.oneofIndex === index)
      if (members.length === 0) continue
      print(depth + 1, `oneof ${oneof.name} {`)
      for (const option of optionsOf(OneofOptionsSchema, oneof.options)) print(depth + 2, `option ${option};`)
      for (const field of members) printField(depth + 2, field)
      print(depth + 1, "}")
    }
    for (const range of message.reservedRange) print(depth + 1, `reserved ${range.start} to ${range.end - 1};`)
    printReservedNames(depth + 1, message.reservedName)
    for (const range of message.extensionRange) {
      const end = range.end === maxFieldNumber ? "max" : range.end - 1
      print(
        depth + 1,
        `extensions ${range.start} to ${end}${bracketed(optionsOf(ExtensionRangeOptionsSchema, range.options))};`,
      )
    }
    for (const type of message.enumType) printEnum(depth + 1, type)
    for (const nested of message.nestedType) printMessage(depth + 1, nested)
    printExtensions(depth + 1, message.extension)
    print(depth, "}")
  }

  print(0, `syntax = "${file.proto.syntax || "proto2"}";`)
  print(0, `package ${file.proto.package};`)
  for (const path of file.proto.dependency) print(0, `import "${path}";`)
  for (const option of optionsOf(FileOptionsSchema, file.proto.options)) print(0, `option ${option};`)
  for (const type of file.proto.enumType) printEnum(0, type)
  for (const message of file.proto.messageType) printMessage(0, message)
  printExtensions(0, file.proto.extension)
  return `${lines.join("\n")}\n`
}
