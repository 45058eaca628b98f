import type { Reason } from "./reason.ts"

export const canonicalReasons: readonly Reason[] = []
