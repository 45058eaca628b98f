// @signet/client/messaging/history: moves the history to a new device of the same user. Separate, so that a page that
// has none does not load it.
export {
  type CodeOfDevice,
  cancelHistory,
  confirmHistoryCode,
  grantHistoryByCode,
  grantHistoryByQr,
  type HistoryProgress,
  type HistoryRequest,
  historyRequests,
  requestHistoryByCode,
  requestHistoryByQr,
  runHistory,
} from "./transfer.ts"
