import { canonicalReasons } from "./canonical.ts"
import { framingReasons } from "./framing.ts"
import { guardReasons } from "./guard.ts"
import { kernelReasons } from "./kernel.ts"
import type { Reason } from "./reason.ts"

export const reasons: readonly Reason[] = [...kernelReasons, ...guardReasons, ...canonicalReasons, ...framingReasons]
