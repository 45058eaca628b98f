import type { Conversation as ServiceConversation } from "@signet/proto/messaging/v1/records"
import type { Conversation } from "../context.ts"
import type { RecoveryStep } from "../conversation/recovery.ts"
import { type Ambient, nowSeconds } from "../deps.ts"
import { consume } from "../joining/welcomes.ts"
import { handleEquivocation, reportAndRejoin } from "../receiving/equivocation.ts"
import { catchUp, decideOn, lookForHelp, rejoinIfEpochLost, requestRejoin } from "../receiving/log.ts"
import { carryOutDirectives } from "../sending/directives.ts"
import { ask, carryOutIntents } from "../sending/intents.ts"
import { closeHere, confirmLeave, followLeave } from "../sending/leaving.ts"
import { flush } from "../sending/outbox.ts"
import { flushIfActive } from "../sending/queue.ts"
import { isWanted, resetIfAllowed } from "../sending/reset.ts"
import { inBackground, trying } from "./background.ts"

type Shown = ServiceConversation | undefined

/** Synchronizes one conversation with the service. Runs in the turn of the conversation. */
export async function settle(conversation: Conversation, shown: Shown): Promise<void> {
  await trying(conversation, conversation.id, () => consume(conversation))
  await recover(conversation, "shown", shown)
}

/** Performs the steps of a decision in their order. */
async function recover(conversation: Conversation, on: "shown" | "logRead", shown: Shown): Promise<void> {
  const { owner, device } = conversation
  // Read after the service's answer, whose cursor another tab may have moved: that tab stored its state before.
  await conversation.stored()
  const own = { ownUserId: owner.userId, ownKey: device.identity().signatureKey }
  for (const step of await decideOn(conversation, { on, shown, ...own })) {
    const hasEnded = await steps[step](conversation, shown)
    if (hasEnded === true) return
  }
}

const steps: Readonly<Record<RecoveryStep, (conversation: Conversation, shown: Shown) => Promise<unknown>>> = {
  async readLog(conversation, shown) {
    await catchUp(conversation)
    await recover(conversation, "logRead", shown)
  },
  rejoin: (conversation) => requestRejoin(conversation),
  checkEquivocation: handleEquivocation,
  rejoinIfEpochLost,
  reportAndRejoin,
  lookForHelp,
  resetIfWanted: async (conversation) => isWanted(await conversation.stored()) && resetIfAllowed(conversation),
  flushIfActive,
  followLeave,
  confirmLeave,
  close: closeHere,
  carryOutIntents: (conversation) => carryOutIntents(conversation),
  carryOutDirectives: (conversation) => carryOutDirectives(conversation),
  flush: (conversation) => flush(conversation),
  renewLeaf: async (conversation) => renewLeafLater(conversation),
  async renewOldLeaf(conversation) {
    const { local } = await conversation.stored()
    if (local !== undefined && isLeafOld(conversation, local.leafRenewedAt)) renewLeafLater(conversation)
  },
  // The summary may be older than a message that another tab has sent since: `catchUp` asks for the end again.
  checkLogEnd: (conversation) => catchUp(conversation),
}

const day = 86_400
/** The longest interval between key renewals of the own leaf. */
const leafAgeSeconds = 7 * day

/** @param renewedAt Unix seconds. */
export const isLeafOld = (ambient: Pick<Ambient, "clock">, renewedAt: number): boolean =>
  nowSeconds(ambient) - renewedAt >= leafAgeSeconds

/** Renews the own leaf in the background, in a turn of its own. */
export function renewLeafLater(conversation: Conversation): void {
  const update = { case: "update", value: {} } as const
  inBackground(conversation, conversation.id, () => ask(conversation, update))
}
