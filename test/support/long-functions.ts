import { parseAst } from "vitest/node"

/** Names of the functions of TypeScript code that have more lines than `most`. A nested function counts twice. */
export function longFunctions(code: string, most: number): string[] {
  const found: string[] = []
  const lines = (start: number, end: number) => code.slice(start, end).split("\n").length
  const visit = (value: unknown, name: string): void => {
    if (typeof value !== "object" || value === null) return
    if (Array.isArray(value)) {
      for (const each of value) visit(each, name)
      return
    }
    const { type, start, end, id, key } = Object(value)
    const own = id?.name ?? key?.name ?? name
    if (/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(type)) {
      if (lines(start, end) > most) found.push(own)
    }
    for (const child of Object.values(value)) visit(child, own)
  }
  visit(parseAst(code, { lang: "ts" }), "")
  return found
}
