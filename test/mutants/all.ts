import { canonicalMutants } from "./canonical.ts"
import { engineMutants } from "./engine.ts"
import type { Mutant } from "./mutant.ts"

export const mutants: readonly Mutant[] = [...engineMutants, ...canonicalMutants]
