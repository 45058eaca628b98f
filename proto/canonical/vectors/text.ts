/** The text of a vector file: one line per vector, so that a diff shows changed vectors. */
export function fileText(content: unknown): string {
  if (Array.isArray(content)) return `[\n${content.map((each) => JSON.stringify(each)).join(",\n")}\n]\n`
  const entries = Object.entries(Object(content)).map(
    ([name, each]) => `${JSON.stringify(name)}: ${JSON.stringify(each)}`,
  )
  return `{\n${entries.join(",\n")}\n}\n`
}
