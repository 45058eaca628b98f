// @signet/client-web/messaging/history: the history of a new device, in a browser. The core of the messenger is loaded on
// demand.

import type { Messenger } from "@signet/client/messaging"
import type * as portable from "@signet/client/messaging/history"
import { isRemote } from "../../core/messaging/remote/opened-remotes.ts"

export type { CodeOfDevice, HistoryProgress, HistoryRequest } from "@signet/client/messaging/history"

/** The functions for the core that a messenger runs in. */
const historyOf = (messenger: Messenger): Promise<typeof portable> =>
  isRemote(messenger) ? import("../../core/messaging/remote/history.ts") : import("@signet/client/messaging/history")

export const requestHistoryByQr: typeof portable.requestHistoryByQr = async (messenger) =>
  (await historyOf(messenger)).requestHistoryByQr(messenger)

export const requestHistoryByCode: typeof portable.requestHistoryByCode = async (messenger) =>
  (await historyOf(messenger)).requestHistoryByCode(messenger)

export const confirmHistoryCode: typeof portable.confirmHistoryCode = async (...given) =>
  (await historyOf(given[0])).confirmHistoryCode(...given)

export const historyRequests: typeof portable.historyRequests = async (messenger) =>
  (await historyOf(messenger)).historyRequests(messenger)

export const grantHistoryByQr: typeof portable.grantHistoryByQr = async (...given) =>
  (await historyOf(given[0])).grantHistoryByQr(...given)

export const grantHistoryByCode: typeof portable.grantHistoryByCode = async (...given) =>
  (await historyOf(given[0])).grantHistoryByCode(...given)

export const runHistory: typeof portable.runHistory = async (...given) =>
  (await historyOf(given[0])).runHistory(...given)

export const cancelHistory: typeof portable.cancelHistory = async (...given) =>
  (await historyOf(given[0])).cancelHistory(...given)
