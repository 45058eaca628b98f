// How much a long test does: a little in `npm test`, more in `npm run test:long`, which .ci/run runs too and which repeats
// the files that import this one or tell a story on each store, and for hours at night.

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
