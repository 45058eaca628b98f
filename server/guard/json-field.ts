/**
 * Reads one string from a JSON value by a path of schema names: "note.tenant_id". Names may also be written in
 * lowerCamelCase (proto3 JSON). Returns undefined if the value is missing, empty, not a string, or present under
 * several spellings (ignoring case), because a handler could then read another one.
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

/** Removes letter case, which some JSON readers ignore. */
const fold = (name: string): string => name.toUpperCase().toLowerCase()

function camelCase(name: string): string {
  return name.replace(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}
