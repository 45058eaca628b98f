import type { Reason } from "./reason.ts"

export const clientReasons: readonly Reason[] = [
  {
    file: "clients/core/messaging/state/conversations.ts",
    why: "A settled turn that stays in the map delays no later turn: it costs memory only.",
    changes: ["turns.get(id) === settled → false"],
  },
  {
    file: "clients/core/messaging/crypto/web-suite.ts",
    why: "A generated key that is not cached is imported again: it costs time only.",
    changes: ["given === undefined → false"],
  },
  {
    file: "clients/core/messaging/history/transfer.ts",
    why: "A pause after progress costs time only.",
    changes: ["!hasProgress && (await transferIds(context)).length > 0 → true"],
  },
  {
    file: "clients/core/messaging/receiving/verify-commit.ts",
    why: "The value is read only after a reset.",
    changes: ["isReset && (await asksConfirmation(conversation, record)) → true"],
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
