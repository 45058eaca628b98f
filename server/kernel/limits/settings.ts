import { defaultLimits, type Limits } from "./policy.ts"

type Tree = { readonly [name: string]: number | Tree }

const maxOf: Readonly<Record<string, number>> = {
  limit: 1_000_000,
  failures: 1_000_000,
  seconds: 86_400,
  lockSeconds: 86_400,
  mostLockSeconds: 604_800,
}

/**
 * Applies an operator's settings to the default limits: JSON of the same shape, with only the changed numbers.
 *
 * @returns The limits, or one sentence for each problem.
 */
export function parseLimits(text: string): Limits | { problems: readonly string[] } {
  const problems: string[] = []
  const merged = merge(defaultLimits as unknown as Tree, parseJson(text, problems), "", problems)
  // `merge` neither adds nor removes names, so the result has the shape of the defaults.
  const limits = merged as unknown as Limits
  for (const [name, { lockSeconds, mostLockSeconds }] of Object.entries(limits.lockouts)) {
    if (mostLockSeconds < lockSeconds) problems.push(`lockouts.${name}.mostLockSeconds is less than its lockSeconds.`)
  }
  return problems.length > 0 ? { problems } : limits
}

function parseJson(text: string, problems: string[]): unknown {
  try {
    return JSON.parse(text)
  } catch {
    problems.push("it is not JSON.")
    return {}
  }
}

function merge(defaults: Tree, changes: unknown, path: string, problems: string[]): Tree {
  if (typeof changes !== "object" || changes === null || Array.isArray(changes)) {
    problems.push(`${path || "it"} must be an object.`)
    return defaults
  }
  const merged: Record<string, number | Tree> = { ...defaults }
  for (const [name, change] of Object.entries(changes)) {
    const at = path === "" ? name : `${path}.${name}`
    const current = Object.hasOwn(defaults, name) ? defaults[name] : undefined
    if (current === undefined) problems.push(`${at} is not a limit.`)
    else if (typeof current === "number") merged[name] = parseNumber(name, change, at, problems)
    else merged[name] = merge(current, change, at, problems)
  }
  return merged
}

function parseNumber(name: string, value: unknown, at: string, problems: string[]): number {
  const most = maxOf[name] ?? 0
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most) return value
  problems.push(`${at} must be an integer from 1 to ${most}.`)
  return 1
}
