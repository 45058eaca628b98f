// How much a long test does: a little in `npm test`, more in `npm run test:long` (`npm test` with SIGNET_EFFORT=ci, which
// .ci/run runs), and for hours at night.

const efforts = ["small", "ci", "nightly"] as const
type Effort = (typeof efforts)[number]

const asked = process.env.SIGNET_NIGHTLY === "1" ? "nightly" : (process.env.SIGNET_EFFORT ?? "small")
const now: Effort | undefined = efforts.find((one) => one === asked)
if (now === undefined) throw new Error(`SIGNET_EFFORT is ${asked}; it may be ${efforts.join(", ")}`)
const chosen: Effort = now

/**
 * The amount that is asked for now: runs, rounds, steps, or a time limit that goes with them.
 *
 * @param small For all the tests together to end in two or three minutes: about half a second each.
 * @param ci About half a minute each.
 */
export function effort<Amount>(small: Amount, ci: Amount, nightly: Amount): Amount {
  return { small, ci, nightly }[chosen]
}

/** False in `npm test`. For `test.runIf`: a test that takes seconds, of a rule that quicker tests hold too. */
export const isLong = effort(false, true, true)
