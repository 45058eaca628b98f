// The same script on two servers, step by step, until something differs.
import { seeded } from "../simulation/seeded.ts"
import { next, steps } from "./script.ts"
import { difference } from "./seen.ts"
import { actOn, type Line, type Notes, type Side } from "./side.ts"

export interface Played {
  /** Steps that were taken on both. */
  readonly steps: number
  /** Things that were compared. */
  readonly compared: number
  /** How often each step came, and each refusal was met. */
  readonly counts: Readonly<Record<string, number>>
  readonly failure: Failure | undefined
}

export interface Failure {
  readonly step: number
  readonly name: string
  /** What differs, as a path and both, or a fault of the script. */
  readonly what: string
  /** What both had written down, to where they differ. */
  readonly lines: readonly string[]
}

export interface Play {
  readonly seed: string
  readonly steps: number
  readonly left: Side
  readonly right: Side
  readonly onStep?: (step: number, name: string) => void
}

export async function play({ seed, steps: count, left, right, onStep = () => {} }: Play): Promise<Played> {
  const counts: Record<string, number> = {}
  const countOf = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1
  }
  let compared = 0
  for (let step = 0; step < count; step++) {
    const name = next(seeded(`${seed}/${step}`).fork("next"), left)
    onStep(step, name)
    const [one, other] = await Promise.all([left, right].map((side) => take(side, name, `${seed}/${step}`)))
    if (one === undefined || other === undefined) throw new Error("two sides")
    const failure = compare(one, other)
    for (const line of one.lines) countOf(outcomeOf(line))
    countOf(`step ${name}`)
    compared += one.lines.length
    if (failure !== undefined) return { steps: step, compared, counts, failure: { step, name, ...failure } }
  }
  return { steps: count, compared, counts, failure: undefined }
}

async function take(side: Side, name: string, seed: string): Promise<Notes> {
  const notes: Notes = { lines: [], faults: [] }
  try {
    await freshTokens(side)
    await steps[name]?.[1](actOn(side, seeded(seed), notes))
  } catch (error) {
    notes.faults.push(error)
  }
  return notes
}

/** Tokens are good for ten minutes; a script takes longer. */
async function freshTokens({ devices }: Side): Promise<void> {
  for (const { credentials, session } of devices) {
    const { exp } = JSON.parse(Buffer.from(credentials.token?.split(".")[1] ?? "", "base64url").toString())
    if (Number(exp) - Date.now() / 1_000 > 120) continue
    // Of who was revoked the session is over; what its calls are told then is told on both sides.
    credentials.token = await session.refresh().catch(() => credentials.token)
  }
}

function compare(one: Notes, other: Notes): { what: string; lines: readonly string[] } | undefined {
  const before: string[] = []
  for (let i = 0; i < Math.max(one.lines.length, other.lines.length); i++) {
    const [left, right] = [one.lines[i], other.lines[i]]
    if (left === undefined || right === undefined || left.what !== right.what) {
      return { what: `${left?.what ?? "nothing"} | ${right?.what ?? "nothing"}`, lines: before }
    }
    const found = difference(left.seen, right.seen)
    before.push(`${left.what}\n    ${JSON.stringify(left.seen)}`)
    if (found !== undefined) {
      before.push(`    ${JSON.stringify(right.seen)}`)
      return { what: `${left.what}: ${found}`, lines: before }
    }
  }
  const [fault] = [...one.faults, ...other.faults]
  if (fault === undefined) return undefined
  return { what: fault instanceof Error ? (fault.stack ?? fault.message) : String(fault), lines: before }
}

/** A call by its name and how it ended. */
function outcomeOf({ what, seen }: Line): string {
  const reason = JSON.stringify(seen)?.match(/"reason":"([A-Z_]+)"/)?.[1]
  const code = JSON.stringify(seen)?.match(/"metadata":\{[^}]*"code":"([A-Z_]+)"/)?.[1]
  return `${what.replace(/,.*/, "")} ${reason === undefined ? "ok" : `${reason}${code ? ` ${code}` : ""}`}`
}
