import type { Reason } from "./reason.ts"

export const kernelReasons: readonly Reason[] = [
  {
    file: "server/kernel/revocation/entry.ts",
    why: "A property that is undefined is read as a missing one.",
    changes: ["app_id === undefined → false", "min_version === undefined → false"],
  },
]
