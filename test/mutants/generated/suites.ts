import { type draw, isAmong, suites } from "./draw.ts"
import { hunt } from "./hunt.ts"

/** The mutants that one suite kills. */
interface Score {
  readonly suite: string
  readonly killed: ReadonlySet<string>
  /** Killed by no other suite. */
  readonly alone: readonly string[]
}

const nameOf = ({ file, line, change }: { file: string; line: number; change: string }) => `${file}:${line}  ${change}`

/** Tries drawn mutants with each suite separately, to see the mutants that only one suite kills. */
export async function compareSuites(
  drawn: ReturnType<typeof draw>,
  slowest: number,
  say: (line: string) => void,
): Promise<readonly Score[]> {
  const kills = new Map<string, Set<string>>()
  for (const [suite, tests] of Object.entries(suites)) {
    say(suite)
    const sources = [...new Set(drawn.map(({ file }) => file))]
    const isTried = isAmong(drawn)
    const { mutants, survivors } = await hunt({ sources, tests, isTried, isExplained: () => false, slowest }, say)
    const surviving = new Set(survivors.map(nameOf))
    kills.set(suite, new Set(mutants.map(nameOf).filter((name) => !surviving.has(name))))
  }
  return [...kills].map(([suite, killed]) => {
    const others = [...kills].filter(([other]) => other !== suite).map(([, names]) => names)
    return { suite, killed, alone: [...killed].filter((name) => !others.some((names) => names.has(name))) }
  })
}
