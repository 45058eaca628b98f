import type { Reason } from "./reason.ts"

export const framingReasons: readonly Reason[] = []
