// The effort of long tests: small in `npm test`, larger in `npm run test:long` (`npm test` with SIGNET_EFFORT=ci, used
// by .ci/run), and hours at night. `.ci/run` sets a time for its longer form: a file that starts after it runs in the
// short form, so that a slow machine ends in time.

const efforts = ["small", "ci", "nightly"] as const
type Effort = (typeof efforts)[number]

const asked = process.env.SIGNET_NIGHTLY === "1" ? "nightly" : (process.env.SIGNET_EFFORT ?? "small")
const now: Effort | undefined = efforts.find((one) => one === asked)
if (now === undefined) throw new Error(`SIGNET_EFFORT is ${asked}; it may be ${efforts.join(", ")}`)
const wanted: Effort = now
let chosen: Effort = wanted

/** Seconds since 1970. */
const longUntil = Number(process.env.SIGNET_LONG_UNTIL ?? Number.POSITIVE_INFINITY)

/** True for a file that starts at this time, in milliseconds since 1970, and runs in the short form because of it. */
export const isShortened = (at: number): boolean => wanted === "ci" && at / 1_000 >= longUntil

/**
 * Returns the amount for the current effort: runs, rounds, steps, or a corresponding time limit.
 *
 * @param small Keeps all tests together within two or three minutes: about half a second each.
 * @param ci About half a minute each.
 */
export function effort<Amount>(small: Amount, ci: Amount, nightly: Amount): Amount {
  return { small, ci, nightly }[chosen]
}

/** False in `npm test`. For `test.runIf`: tests that take seconds and whose rule quicker tests cover, too. */
export let isLong = effort(false, true, true)

/** For tests that take minutes of a processor's time. .ci/run names them among its skips (allowed-skips.json). */
export const isNightly = effort(false, false, true)

/** For vitest's setup of each file, before its imports: files share a process, and one file has one effort. */
export function chooseEffort(at: number): void {
  chosen = isShortened(at) ? "small" : wanted
  isLong = effort(false, true, true)
}

/** The rows of a repeated test: the first `count` in `npm test`, all in the long form. */
export const sample = <Row>(count: number, rows: readonly Row[]): readonly Row[] =>
  effort(rows.slice(0, count), rows, rows)
