import type { DescExtension, DescField, DescMessage, DescMethod, Message } from "@bufbuild/protobuf"
import { getExtension, hasExtension } from "@bufbuild/protobuf"
import { isReflectList, isReflectMap, isReflectMessage, reflect } from "@bufbuild/protobuf/reflect"
import { getComments, type Schema } from "@bufbuild/protoplugin"

export type Plain = { [key: string]: unknown }

/** A method's or field's option by its full name, as plain data; undefined if it is not set. */
export type ReadOption = (of: DescMethod | DescField, name: string) => unknown

/** Reads options through the request's descriptors, because the plugin may run before the code is generated. */
export function optionReader(schema: Schema): ReadOption {
  const extensions = new Map<string, DescExtension>()
  for (const file of schema.allFiles) for (const each of file.extensions) extensions.set(each.typeName, each)
  return (of, name) => {
    const extension = extensions.get(name)
    const options = of.proto.options
    if (extension === undefined || options === undefined || !hasExtension(options, extension)) return undefined
    const value: unknown = getExtension(options, extension)
    return extension.message ? plainMessage(extension.message, value) : value
  }
}

const plainMessage = (desc: DescMessage, value: unknown): Plain => (isMessage(value) ? plain(reflect(desc, value)) : {})

const isMessage = (value: unknown): value is Message =>
  typeof value === "object" && value !== null && "$typeName" in value

/** Set fields by proto name; enums by value name. */
function plain(message: ReturnType<typeof reflect>): Plain {
  const out: Plain = {}
  for (const field of message.desc.fields) {
    if (!message.isSet(field)) continue
    const value: unknown = message.get(field)
    const one = (item: unknown): unknown => {
      if (isReflectMessage(item)) return plain(item)
      if (field.enum && typeof item === "number") return field.enum.value[item]?.name ?? item
      return typeof item === "bigint" ? Number(item) : item
    }
    if (isReflectList(value)) out[field.name] = Array.from(value, one)
    else if (isReflectMap(value)) out[field.name] = Object.fromEntries(value)
    else out[field.name] = one(value)
  }
  return out
}

export const isPlain = (value: unknown): value is Plain =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A member of plain data as plain data; empty if it is missing. */
export const plainIn = (value: unknown, name: string): Plain => {
  const member = isPlain(value) ? value[name] : undefined
  return isPlain(member) ? member : {}
}

/** The comment of an element in its .proto file. */
export function descriptionOf(of: Parameters<typeof getComments>[0]): { description?: string } {
  const lines = getComments(of).leading?.split("\n") ?? []
  const description = lines
    .map((line) => line.replace(/^ /, "").trimEnd())
    .join("\n")
    .trim()
  return description === "" ? {} : { description }
}
