import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf"
import { reflect } from "@bufbuild/protobuf/reflect"

/**
 * Creates a reader of one string field. It returns undefined if the message, the field, or a message on its path, is
 * unset or empty.
 *
 * @param path Field names of the schema with dots: "conversation.tenant_id".
 * @throws Error if the message has no such field, or the field is not a single string.
 */
export function fieldOf(input: DescMessage, path: string): (message: Message | undefined) => string | undefined {
  const steps: DescField[] = []
  let at: DescMessage | undefined = input
  for (const name of path.split(".")) {
    const field: DescField | undefined = at?.fields.find((candidate) => candidate.name === name)
    if (field === undefined) throw new Error(`${input.typeName} has no field "${path}"`)
    steps.push(field)
    at = field.fieldKind === "message" ? field.message : undefined
  }
  const last = steps.at(-1)
  if (last?.fieldKind !== "scalar" || last.scalar !== ScalarType.STRING) {
    throw new Error(`${input.typeName}: "${path}" is not a singular string field`)
  }
  return (message) => {
    let holder = reflect(input, message)
    for (const step of steps.slice(0, -1)) {
      if (step.fieldKind !== "message" || !holder.isSet(step)) return undefined
      holder = holder.get(step)
    }
    const value: unknown = holder.isSet(last) ? holder.get(last) : undefined
    return typeof value === "string" && value !== "" ? value : undefined
  }
}
