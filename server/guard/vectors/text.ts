/** JSON with one line for each member, and for each entry of the named lists and objects. */
export function jsonLines(value: object, inLines: readonly string[]): string {
  const members = Object.entries(value).map(([name, member]: [string, unknown]) => {
    if (!inLines.includes(name) || typeof member !== "object" || member === null) return line(name, member)
    const lines = Array.isArray(member)
      ? member.map((one) => JSON.stringify(one))
      : Object.entries(member).map(([key, one]) => line(key, one))
    const [open, close] = Array.isArray(member) ? ["[", "]"] : ["{", "}"]
    return `${JSON.stringify(name)}:${open}\n${lines.join(",\n")}\n${close}`
  })
  return `{\n${members.join(",\n")}\n}\n`
}

const line = (name: string, value: unknown): string => `${JSON.stringify(name)}:${JSON.stringify(value)}`
