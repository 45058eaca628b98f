import type { Reason } from "./reason.ts"

export const guardReasons: readonly Reason[] = []
