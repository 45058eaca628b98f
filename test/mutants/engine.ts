import { engineCommitsMutants } from "./engine-commits.ts"
import { engineJoinsMutants } from "./engine-joins.ts"
import { engineLeavesMutants } from "./engine-leaves.ts"
import { engineMessagesMutants } from "./engine-messages.ts"
import { engineStateMutants } from "./engine-state.ts"
import type { Mutant } from "./mutant.ts"

/** Hand-written mutants of the MLS engine, each with the test that detects it. */
export const engineMutants: readonly Mutant[] = [
  ...engineCommitsMutants,
  ...engineMessagesMutants,
  ...engineJoinsMutants,
  ...engineLeavesMutants,
  ...engineStateMutants,
]
