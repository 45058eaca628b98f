import type { Reason } from "./reason.ts"

export const kernelReasons: readonly Reason[] = [
  {
    file: "server/kernel/limits/audit-budget.ts",
    why: "A map that holds more than its limit has a first key; the condition narrows the type.",
    changes: ["oldest !== undefined → true"],
  },
  {
    file: "server/kernel/limits/refusal-cache.ts",
    why: "A map that holds more than its limit has a first key; the condition narrows the type.",
    changes: ["oldest !== undefined → true"],
  },
  {
    file: "server/kernel/limits/settings.ts",
    why: "`Number.isInteger` is false for every value that is not a number; the condition narrows the type.",
    changes: ['typeof value === "number" → true'],
  },
  {
    file: "server/kernel/revocation/entry.ts",
    why: "A property that is undefined is read as a missing one, and JSON leaves it out.",
    changes: [
      "appId === undefined → false",
      "minVersion === undefined → false",
      "app_id === undefined → false",
      "min_version === undefined → false",
    ],
  },
  {
    file: "server/kernel/revocation/revocation-set.ts",
    why: "The name of an entry is the same for a missing app and for one that is undefined.",
    changes: ["appId === undefined → false"],
  },
  {
    file: "server/kernel/revocation/revocation-set.ts",
    why: "A sweep at every addition drops what a later one would drop: it costs time only.",
    changes: ["nowMs - sweptAtMs > sweepEveryMs || entries.size + added.length > capacity → true"],
  },
]
