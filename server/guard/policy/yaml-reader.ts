// A YAML reader with positions: errors state line and column.
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml"

/** An error in a policy file, with its position. Lines and columns start at 1. */
export class PolicyFileError extends Error {
  override readonly name = "PolicyFileError"
  readonly line: number
  readonly column: number

  constructor(message: string, { line, column }: Place) {
    super(message)
    this.line = line
    this.column = column
  }
}

export interface Place {
  readonly line: number
  readonly column: number
}

/** A value in the file. Each method reads it as one type, and throws a PolicyFileError if it has another. */
export interface Value {
  readonly place: Place
  fail(problem: string): never
  isText(): boolean
  isMap(): boolean
  text(): string
  /** A string out of this list. */
  word<Word extends string>(words: readonly Word[]): Word
  number(): number
  flag(): boolean
  list(): readonly Value[]
  /** Entries in file order. Repeated names are an error. @param known The allowed names; default is any. */
  map(known?: readonly string[]): ReadonlyMap<string, Value>
  /** The value as JSON. */
  json(): unknown
}

/** Parses a file. @throws PolicyFileError if it is not valid YAML. */
export function readYaml(text: string): Value {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true })
  const placeOf = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
  const [problem] = [...document.errors, ...document.warnings]
  if (problem !== undefined) throw new PolicyFileError(problem.message, placeOf(problem.pos[0]))

  function wrap(from: unknown, fallback: number): Value {
    const node = isAlias(from) ? from.resolve(document) : from
    const place = placeOf(rangeOf(from) ?? fallback)
    const fail = (message: string): never => {
      throw new PolicyFileError(message, place)
    }
    const scalar = isScalar(node) ? node.value : undefined
    const value: Value = {
      place,
      fail,
      isText: () => typeof scalar === "string",
      isMap: () => isMap(node),
      text: () => (typeof scalar === "string" && scalar !== "" ? scalar : fail("this must be a non-empty string")),
      word: (words) => words.find((word) => word === scalar) ?? fail(`this must be one of: ${words.join(", ")}`),
      number: () => (typeof scalar === "number" && scalar >= 0 ? scalar : fail("this must be a number of at least 0")),
      flag: () => (typeof scalar === "boolean" ? scalar : fail("this must be true or false")),
      list: () =>
        isSeq(node)
          ? node.items.map((item) => wrap(item, fallback))
          : fail("this must be a list: one line with - per item"),
      map: (known) => {
        if (!isMap(node)) return fail("this must be a map: one line NAME: VALUE per entry")
        return new Map(
          node.items.map((pair) => {
            const name = String(isScalar(pair.key) ? pair.key.value : "")
            const at = rangeOf(pair.key) ?? fallback
            if (known !== undefined && !known.includes(name)) {
              throw new PolicyFileError(`"${name}" is not known here; there is ${known.join(", ")}`, placeOf(at))
            }
            return [name, wrap(pair.value, at)]
          }),
        )
      },
      json: () => (node as Node | null | undefined)?.toJS(document),
    }
    return value
  }
  return wrap(document.contents, 0)
}

function rangeOf(node: unknown): number | undefined {
  return isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range?.[0] : undefined
}
