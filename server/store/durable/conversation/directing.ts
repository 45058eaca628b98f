// Directives, leases and fork reports: decided here on a snapshot, and written if the snapshot is still current. A
// decision is a function, which cannot be sent to an object.

import type { AuditEvent } from "@signet/kernel/audit/event"
import { Refused } from "@signet/kernel/errors"
import type { ConversationId } from "@signet/kernel/ids"
import { withReport } from "@signet/kernel/messaging/fork"
import type { Conversations } from "@signet/kernel/messaging/ports"
import type { Conversation } from "@signet/kernel/messaging/records"
import { ask } from "../asking.ts"
import type { DurableEnv } from "../env.ts"
import { type Change, changeOf } from "./change.ts"

const mostTries = 20

export function directing(env: DurableEnv): Pick<Conversations, "decideDirective" | "leaseDirective" | "reportFork"> {
  return {
    async decideDirective(id, decide, audit) {
      const done = await decideAndSwap(env, id, (found) => {
        const decision = decide(found)
        const change = changeOf(found, decision)
        return { answer: decision, write: change && { change, audit: present(audit(decision)) } }
      })
      return done && { decision: done.answer, conversation: done.conversation }
    },

    async leaseDirective(id, decide) {
      const done = await decideAndSwap(env, id, (found) => {
        const decision = decide(found)
        const change = changeOf(found, decision)
        return { answer: decision, write: change && { change, audit: [] } }
      })
      return done && { decision: done.answer, conversation: done.conversation }
    },

    async reportFork(id, report, isFork, audit) {
      const done = await decideAndSwap(env, id, (found) => {
        const forkReports = withReport(found.forkReports, report)
        const isQuarantined = found.status === "ACTIVE" && isFork(found, forkReports)
        if (!isQuarantined && forkReports === found.forkReports) return { answer: undefined, write: null }
        const change: Change = { forkReports, status: isQuarantined ? "QUARANTINED" : found.status }
        return { answer: undefined, write: { change, audit: audit(isQuarantined) } }
      })
      return done?.conversation
    },
  }
}

const present = (event: AuditEvent | null): readonly AuditEvent[] => (event === null ? [] : [event])

/** @throws Refused UNAVAILABLE when concurrent changes precede every attempt. */
async function decideAndSwap<Answer>(
  { CONVERSATIONS }: DurableEnv,
  id: ConversationId,
  decide: (found: Conversation) => {
    readonly answer: Answer
    readonly write: { readonly change: Change; readonly audit: readonly AuditEvent[] } | null
  },
): Promise<{ readonly answer: Answer; readonly conversation: Conversation } | undefined> {
  const object = () => CONVERSATIONS.getByName(id)
  for (let tried = 0; tried < mostTries; tried++) {
    const snapshot = await ask(() => object().snapshot())
    if (snapshot === undefined) return undefined
    const { conversation: found, revision } = snapshot
    const { answer, write } = decide(found)
    if (write === null) return { answer, conversation: found }
    const after = await ask(() => object().swap(revision, write.change, write.audit))
    if (after !== "lost") return { answer, conversation: { ...after, roster: found.roster } }
  }
  throw new Refused("UNAVAILABLE", { cause: new Error("a conversation kept changing during the retries") })
}
