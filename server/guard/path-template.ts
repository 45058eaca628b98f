/** Returns the variables of a path; undefined if the path does not match. */
export type MatchPath = (pathname: string) => ReadonlyMap<string, string> | undefined

/**
 * Compiles a template of whole path segments: "/notes/{note_id}".
 *
 * @throws Error if a variable's name is invalid or repeated.
 */
export function pathTemplate(template: string): { readonly names: ReadonlySet<string>; readonly match: MatchPath } {
  const segments = template.split("/").map((text) => {
    const name = /^\{([a-z][a-z0-9_.]*)\}$/.exec(text)?.[1]
    if (name === undefined && /[{}]/.test(text)) throw new Error(`${template}: ${text} is not a path variable`)
    return { text, name }
  })
  const named = segments.flatMap(({ name }) => (name === undefined ? [] : [name]))
  const names = new Set(named)
  if (names.size !== named.length) throw new Error(`${template}: a variable occurs twice`)

  return {
    names,
    match(pathname) {
      const parts = pathname.split("/")
      if (parts.length !== segments.length) return undefined
      const values = new Map<string, string>()
      for (const [i, { text, name }] of segments.entries()) {
        const part = parts[i] ?? ""
        if (name === undefined) {
          if (part !== text) return undefined
          continue
        }
        const value = decode(part)
        if (value === undefined || value === "") return undefined
        values.set(name, value)
      }
      return values
    },
  }
}

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}
