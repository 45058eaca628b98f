import { canonicalReasons } from "./canonical.ts"
import { clientReasons } from "./clients.ts"
import { framingReasons } from "./framing.ts"
import { guardReasons } from "./guard.ts"
import { kernelReasons } from "./kernel.ts"
import type { Reason } from "./reason.ts"
import { rpcReasons } from "./rpc.ts"
import { servingReasons } from "./serving.ts"

export const reasons: readonly Reason[] = [
  ...kernelReasons,
  ...guardReasons,
  ...canonicalReasons,
  ...framingReasons,
  ...rpcReasons,
  ...servingReasons,
  ...clientReasons,
]
