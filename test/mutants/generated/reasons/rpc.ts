import type { Reason } from "./reason.ts"

export const rpcReasons: readonly Reason[] = [
  {
    file: "server/rpc/admin/grants.ts",
    why: "A read that takes the locks of a change returns the same grant.",
    changes: ['take === "find" → false'],
  },
  {
    file: "server/rpc/messaging/archive/archive-service.ts",
    why: "The table of statuses has no entry for DELETED, and an undefined field has the value UNSPECIFIED.",
    changes: ['archive.status === "DELETED" → false'],
  },
  {
    file: "server/rpc/messaging/attendance.ts",
    why: "A map that holds more than its limit has a first key; the condition narrows the type.",
    changes: ["oldest !== undefined → true"],
  },
  {
    file: "server/rpc/messaging/conversation/append/outcome.ts",
    why: "No commit has begun a future epoch: the look-up finds none.",
    changes: ['reason === "STALE_EPOCH" → true'],
  },
  {
    file: "server/rpc/messaging/device/renew.ts",
    why: "Another attempt finds the stored renewal and returns it: it costs a read only.",
    changes: ['list === "lost" → true'],
  },
  {
    file: "server/rpc/service-account/administer.ts",
    why: "A look-up without an id finds no row; the operand narrows the type.",
    changes: ["id → true"],
  },
  {
    file: "server/rpc/token/known-clients.ts",
    why: "A map that holds more than its limit has a first key; the condition narrows the type.",
    changes: ["oldest !== undefined → true"],
  },
  {
    file: "server/rpc/token/own-grant.ts",
    why: "Without a client there is no grant, so the next operand has the same result; the condition narrows the type.",
    changes: ["client === undefined → false"],
  },
]
