import type { Mutant } from "./mutant.ts"

const keySet = "server/guard/key-set.ts"
const caches = "server/guard/key-set-cache.test.ts"
const requirement = "server/guard/check-requirement.ts"
const requirements = "server/guard/check-requirement.test.ts"

/** Mutants of the checks that a guard makes before its decision. */
export const guardCheckMutants: readonly Mutant[] = [
  {
    fault: "a local key set finds any key",
    file: keySet,
    from: "key.kid === kid",
    to: "key.kid !== ''",
    test: caches,
    name: "a local key set finds the named key, and none that its ring has dropped",
  },
  {
    fault: "a composite may hold a public part",
    file: requirement,
    from: "if (isInComposite) throw",
    to: "if (!readable) throw",
    test: requirements,
    name: "is refused before the first call: public inside a composite",
    row: "public inside a composite",
  },
  {
    fault: "a requirement may ask for facts without an age",
    file: requirement,
    from: "!(requirement.freshness.maxStalenessMs >= 0)",
    to: "requirement.freshness.maxStalenessMs < 0",
    test: requirements,
    name: "is refused before the first call: freshness without an age",
    row: "freshness requires max_staleness",
  },
]
