import type { Reason } from "./reason.ts"

export const clientReasons: readonly Reason[] = [
  {
    file: "clients/core/messaging/state/conversations.ts",
    why: "A settled turn that stays in the map delays no later turn: it costs memory only.",
    changes: ["turns.get(id) === settled → false"],
  },
  {
    file: "clients/core/messaging/receiving/log.ts",
    why: "Without an envelope the position stays, and the next operand has the same result.",
    changes: ["page.envelopes.length === 0 → false"],
  },
  {
    file: "clients/core/rest-request.ts",
    why: "The contract has no custom pattern; the condition narrows the type.",
    changes: ['pattern.case === "custom" → false'],
  },
  {
    file: "clients/node/file-lock.ts",
    why: "The file system rejects with an Error only; the condition narrows the type.",
    changes: ["error instanceof Error → true"],
  },
]
