// HistoryService over the messenger of the signed-in user.
import type { HistoryService } from "@signet/proto/client/v1/history_service"
import {
  cancelHistory,
  confirmHistoryCode,
  grantHistoryByCode,
  grantHistoryByQr,
  historyRequests,
  requestHistoryByCode,
  requestHistoryByQr,
  runHistory,
} from "../../../core/messaging/history/index.ts"
import { ArgumentError } from "../failure.ts"
import type { Handlers } from "./handlers.ts"
import type { MessengerHolder } from "./messenger.ts"

const done = async (work: Promise<unknown>) => {
  await work
  return {}
}

export function historyHandlers(holder: MessengerHolder): Handlers<(typeof HistoryService)["method"]> {
  return {
    requestHistoryByQr: () => requestHistoryByQr(holder.messenger),
    async requestHistoryByCode() {
      const { transferId, codes } = await requestHistoryByCode(holder.messenger)
      return { transferId, codes: [...codes] }
    },
    confirmHistoryCode: ({ transferId, deviceId, code }) =>
      done(confirmHistoryCode(holder.messenger, idOf(transferId), { deviceId, code })),
    async listHistoryRequests() {
      const found = await historyRequests(holder.messenger)
      return { requests: found.map(({ code = "", ...request }) => ({ ...request, code })) }
    },
    grantHistoryByQr: ({ qr }) => done(grantHistoryByQr(holder.messenger, qr)),
    grantHistoryByCode: ({ transferId, code }) => done(grantHistoryByCode(holder.messenger, idOf(transferId), code)),
    runHistory: () =>
      done(
        holder.transfers.run((signal) =>
          runHistory(holder.messenger, { signal, onProgress: holder.onHistoryProgress }),
        ),
      ),
    async stopHistory() {
      holder.transfers.stop()
      return {}
    },
    cancelHistory: ({ transferId }) => done(cancelHistory(holder.messenger, idOf(transferId))),
  }
}

function idOf(transferId: string): string {
  if (!/^[0-9a-f]{32}$/.test(transferId)) throw new ArgumentError("transfer_id must have 32 hexadecimal digits")
  return transferId
}
