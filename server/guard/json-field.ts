/**
 * One text in a JSON value, by a path of the schema with dots: "note.tenant_id". A name may be written as the schema has
 * it or in lowerCamelCase, as proto3 JSON may. Undefined when it is missing, empty, no text, or written in more than one
 * way, letter case not counting: then a handler could read the other one.
 */
export function jsonField(value: unknown, path: string): string | undefined {
  let at = value
  for (const name of path.split(".")) {
    if (typeof at !== "object" || at === null || Array.isArray(at)) return undefined
    const holder: Readonly<Record<string, unknown>> = { ...at }
    const names = [name, camelCase(name)]
    const folded = names.map(fold)
    const [spelling, ...others] = Object.keys(holder).filter((key) => folded.includes(fold(key)))
    if (spelling === undefined || others.length > 0 || !names.includes(spelling)) return undefined
    at = holder[spelling]
  }
  return typeof at === "string" && at !== "" ? at : undefined
}

/** Without letter case, in which some readers of JSON find a name. */
const fold = (name: string): string => name.toUpperCase().toLowerCase()

function camelCase(name: string): string {
  return name.replace(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}
