import type { Reason } from "./reason.ts"

export const servingReasons: readonly Reason[] = [
  {
    file: "server/serving/validation/values.ts",
    why: "Without the rule the minimum is 0, which every length fulfils.",
    changes: ['present.has("min_len") → true'],
  },
]
