// Changes of a conversation outside its log: directives, leases, fork reports. Decided under the conversation's lock.
import { withLeased } from "@signet/kernel/messaging/directive"
import { withReport } from "@signet/kernel/messaging/fork"
import type { Conversations } from "@signet/kernel/messaging/ports"
import type { Conversation } from "@signet/kernel/messaging/records"
import { type Access, appendAudit } from "./access.ts"
import { loadLocked, update } from "./load.ts"

export function directing({
  transact,
}: Access): Pick<Conversations, "decideDirective" | "leaseDirective" | "reportFork"> {
  return {
    decideDirective: (id, decide, audit) =>
      transact(async (trx, log) => {
        const found = await loadLocked(trx, id)
        if (found === undefined) return undefined
        const decision = decide(found)
        if (decision.is === "there" || decision.is === "refuse") return { decision, conversation: found }
        const conversation: Conversation =
          decision.is === "close"
            ? { ...found, status: "CLOSED" }
            : { ...found, directives: [...found.directives, decision.directive] }
        await update(trx, conversation)
        await appendAudit(log, [audit(decision)])
        return { decision, conversation }
      }),

    leaseDirective: (id, decide) =>
      transact(async (trx) => {
        const found = await loadLocked(trx, id)
        if (found === undefined) return undefined
        const decision = decide(found)
        if (decision.is === "refuse") return { decision, conversation: found }
        const { directive } = decision
        const directives = withLeased(found.directives, directive)
        const conversation = { ...found, directives }
        await update(trx, conversation)
        return { decision, conversation }
      }),

    reportFork: (id, report, isFork, audit) =>
      transact(async (trx, log) => {
        const found = await loadLocked(trx, id)
        if (found === undefined) return undefined
        const forkReports = withReport(found.forkReports, report)
        const isQuarantined = found.status === "ACTIVE" && isFork(found, forkReports)
        if (!isQuarantined && forkReports === found.forkReports) return found
        const conversation = { ...found, forkReports, status: isQuarantined ? "QUARANTINED" : found.status }
        await update(trx, conversation)
        await appendAudit(log, audit(isQuarantined))
        return conversation
      }),
  }
}
