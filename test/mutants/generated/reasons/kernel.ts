import type { Reason } from "./reason.ts"

export const kernelReasons: readonly Reason[] = []
