/**
 * One text in a JSON value, by a path of the schema with dots: "note.tenant_id". A name may be written as the schema has
 * it or in lowerCamelCase, as proto3 JSON may. Undefined when it is missing, empty, no text, or written both ways: then a
 * handler could read the other one.
 */
export function jsonField(value: unknown, path: string): string | undefined {
  let at = value
  for (const name of path.split(".")) {
    if (typeof at !== "object" || at === null || Array.isArray(at)) return undefined
    const holder: Readonly<Record<string, unknown>> = { ...at }
    const spellings = [...new Set([name, camelCase(name)])].filter((spelling) => Object.hasOwn(holder, spelling))
    const [spelling] = spellings
    if (spelling === undefined || spellings.length > 1) return undefined
    at = holder[spelling]
  }
  return typeof at === "string" && at !== "" ? at : undefined
}

function camelCase(name: string): string {
  return name.replace(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}
