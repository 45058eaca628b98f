import { parseAst } from "vitest/node"

/** One generated mutant. */
export interface GeneratedMutant {
  /** The change, as the files in reasons/ write it: `a < b → a <= b`. Equal changes in one file have the same text. */
  readonly change: string
  readonly line: number
}

export interface Generated {
  readonly mutants: readonly GeneratedMutant[]
  /** The code with every mutant in it. Mutant n is active while `$mutant(first + n)` returns true. */
  readonly code: string
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

/** A span of the code with its alternatives. The alternative of the active mutant replaces the span. */
interface Site {
  readonly start: number
  readonly end: number
  readonly alternatives: { readonly text: string; readonly number: number }[]
}

type Put = (node: Node, text: string) => void

const boundary: Readonly<Record<string, string>> = { "<": "<=", "<=": "<", ">": ">=", ">=": ">" }
const comparisons = new Set([...Object.keys(boundary), "===", "!==", "in", "instanceof"])

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string"

const childOf = (node: Node, key: string): Node => {
  const child = node[key]
  if (!isNode(child)) throw new Error(`${node.type} has no ${key}`)
  return child
}

const unwrapped = (node: Node): Node =>
  node.type === "ParenthesizedExpression" ? unwrapped(childOf(node, "expression")) : node

/** Returns the child nodes that exist at run time, without types. */
function childrenOf(node: Node): readonly Node[] {
  if (node.type.startsWith("TS")) return isNode(node.expression) ? [node.expression] : []
  return Object.values(node)
    .flat()
    .filter(isNode)
    .filter((child) => !child.type.startsWith("TS") || isNode(child.expression))
}

const isCompared = (node: Node) => node.type === "BinaryExpression" && comparisons.has(String(node.operator))
const isLogical = (node: Node) => node.type === "LogicalExpression" && node.operator !== "??"
const isNegated = (node: Node) => node.type === "UnaryExpression" && node.operator === "!"

/** True if an operand of `+` is a string. The generator does not mutate string concatenation. */
const holdsText = (node: Node): boolean =>
  node.type === "TemplateLiteral" ||
  (node.type === "Literal" && typeof node.value === "string") ||
  (node.type === "BinaryExpression" && [childOf(node, "left"), childOf(node, "right")].some(holdsText))

/** Returns the condition of a statement or expression, and the texts that may replace it. */
function conditionOf(node: Node): readonly [Node, readonly string[]] | undefined {
  if (node.type === "IfStatement" || node.type === "ConditionalExpression")
    return [childOf(node, "test"), ["true", "false"]]
  // A condition that is always true makes a loop endless: the mutant proves nothing and costs a timeout.
  const isLoop = node.type === "WhileStatement" || node.type === "ForStatement" || node.type === "DoWhileStatement"
  if (isLoop && isNode(node.test)) return [node.test, ["false"]]
  return undefined
}

const isTest = (node: Node, parent: Node): boolean => {
  const condition = conditionOf(parent)
  return condition !== undefined && unwrapped(condition[0]) === node
}

/** Replaces each operand of `&&` or `||` by its neutral element: in `a && b`, `a` becomes true. */
function dropOperands(node: Node, put: Put): void {
  const neutral = node.operator === "&&" ? "true" : "false"
  for (const operand of [childOf(node, "left"), childOf(node, "right")].map(unwrapped)) {
    if (!isLogical(operand) || operand.operator !== node.operator) put(operand, neutral)
  }
}

function changeExpression(node: Node, textOf: (node: Node) => string, put: Put): void {
  if (isLogical(node)) dropOperands(node, put)
  if (isCompared(node)) {
    const other = boundary[String(node.operator)]
    if (other !== undefined) put(node, `${textOf(childOf(node, "left"))} ${other} ${textOf(childOf(node, "right"))}`)
  }
  if (node.type === "BinaryExpression" && (node.operator === "+" || node.operator === "-") && !holdsText(node)) {
    put(node, textOf(childOf(node, "left")))
  }
  if (node.type === "CallExpression" && /^Math\.(min|max)$/.test(textOf(childOf(node, "callee")))) {
    const given = (node.arguments as readonly Node[]).filter((argument) => argument.type !== "SpreadElement")
    if (given.length === 2) for (const argument of given) put(node, textOf(argument))
  }
}

const isRemovable = (node: Node): boolean =>
  (node.type === "CallExpression" && childOf(node, "callee").type !== "Super") ||
  (node.type === "AwaitExpression" && isRemovable(childOf(node, "argument")))

/**
 * Puts every mutant into TypeScript code. A condition becomes true or false. An operand of `&&` or `||` is left out. A
 * comparison includes or excludes its bound. A term or a bound of a number is left out. A statement that is a call or a
 * throw is removed.
 *
 * @param first The number of the first mutant.
 */
export function generate(code: string, first = 0): Generated {
  const program = parseAst(code, { lang: "ts" }) as unknown as Node
  const mutants: GeneratedMutant[] = []
  const sites = new Map<string, Site>()
  const calls: { at: number; text: string }[] = []
  const textOf = (node: Node) => code.slice(node.start, node.end)
  const lineOf = (at: number) => code.slice(0, at).split("\n").length
  const short = (text: string) => {
    const line = text.replace(/\s+/g, " ")
    return line.length <= 90 ? line : `${line.slice(0, 89)}…`
  }
  const added = (node: Node, change: string) => first + mutants.push({ change, line: lineOf(node.start) }) - 1
  const put: Put = (node, text) => {
    const span = `${node.start}-${node.end}`
    const site = sites.get(span) ?? { start: node.start, end: node.end, alternatives: [] }
    if (textOf(node) === text || site.alternatives.some((alternative) => alternative.text === text)) return
    sites.set(span, site)
    site.alternatives.push({ text, number: added(node, `${short(textOf(node))} → ${short(text)}`) })
  }

  const parentsOf = new Map<Node, Node>()
  /** True for the only statement of an `if`: the mutant that makes the condition false already removes it. */
  const isAllOfIf = (parent: Node | undefined): boolean =>
    parent?.type === "IfStatement"
      ? !isNode(parent.alternate)
      : parent?.type === "BlockStatement" && Object(parent.body).length === 1 && isAllOfIf(parentsOf.get(parent))
  const visit = (node: Node, parent: Node | undefined): void => {
    const condition = conditionOf(node)
    if (condition !== undefined) for (const text of condition[1]) put(unwrapped(condition[0]), text)
    // A boolean expression gets its own mutants unless it is an operand of another one, which has mutants for its
    // operands.
    const decides = isCompared(node) || isLogical(node) || isNegated(node)
    const isPart = parent !== undefined && (isLogical(parent) || isNegated(parent) || isTest(node, parent))
    if (decides && !isPart) for (const text of ["true", "false"]) put(node, text)
    changeExpression(node, textOf, put)
    if (!isAllOfIf(parent) && node.type === "ExpressionStatement" && isRemovable(childOf(node, "expression"))) {
      const call = childOf(node, "expression")
      calls.push({ at: call.start, text: `$mutant(${added(call, `${short(textOf(call))} → nothing`)}) || ` })
    }
    if (!isAllOfIf(parent) && node.type === "ThrowStatement") {
      calls.push({ at: node.start, text: `if (!$mutant(${added(node, `${short(textOf(node))} → nothing`)})) ` })
    }
    for (const child of childrenOf(node)) {
      parentsOf.set(child, node.type === "ParenthesizedExpression" ? (parentsOf.get(node) ?? node) : node)
      visit(child, parentsOf.get(child))
    }
  }
  visit(program, undefined)
  return { mutants, code: written(code, [...sites.values()], calls) }
}

/** Returns the code with the switches. Sites are nested or disjoint, so the inserted brackets match. */
function written(code: string, sites: readonly Site[], calls: readonly { at: number; text: string }[]): string {
  const pieces = [
    ...calls.map(({ at, text }) => ({ at, text, order: [1, 0] as const })),
    ...sites.map(({ start, end, alternatives }) => ({
      at: start,
      text: `(${alternatives.map(({ text, number }) => `$mutant(${number}) ? (${text}) : `).join("")}`,
      order: [2, -end] as const,
    })),
    ...sites.map(({ start, end }) => ({ at: end, text: ")", order: [0, -start] as const })),
  ].toSorted((a, b) => a.at - b.at || a.order[0] - b.order[0] || a.order[1] - b.order[1])
  let result = ""
  let at = 0
  for (const piece of pieces) {
    result += code.slice(at, piece.at) + piece.text
    at = piece.at
  }
  return result + code.slice(at)
}
