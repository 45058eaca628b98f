// As @signet/client/messaging/history, for a remote messenger.
import { HistoryService } from "@signet/proto/client/v1/history_service"
import type { CodeOfDevice, HistoryProgress, HistoryRequest } from "../history/index.ts"
import type { Messenger } from "../messenger.ts"
import { remoteOf, serviceOf } from "./opened-remotes.ts"

const historyOf = (messenger: Messenger) => serviceOf(messenger, HistoryService)

export async function requestHistoryByQr(messenger: Messenger): Promise<{ transferId: string; qr: string }> {
  const { transferId, qr } = await historyOf(messenger).requestHistoryByQr({})
  return { transferId, qr }
}

export async function requestHistoryByCode(
  messenger: Messenger,
): Promise<{ transferId: string; codes: readonly CodeOfDevice[] }> {
  const { transferId, codes } = await historyOf(messenger).requestHistoryByCode({})
  return { transferId, codes: codes.map(({ deviceId, code }) => ({ deviceId, code })) }
}

export async function confirmHistoryCode(
  messenger: Messenger,
  transferId: string,
  { deviceId, code }: CodeOfDevice,
): Promise<void> {
  await historyOf(messenger).confirmHistoryCode({ transferId, deviceId, code })
}

export async function historyRequests(messenger: Messenger): Promise<readonly HistoryRequest[]> {
  const { requests } = await historyOf(messenger).listHistoryRequests({})
  return requests.map(({ transferId, deviceId, code }) => ({ transferId, deviceId, code: code || undefined }))
}

export async function grantHistoryByQr(messenger: Messenger, qr: string): Promise<void> {
  await historyOf(messenger).grantHistoryByQr({ qr })
}

export async function grantHistoryByCode(messenger: Messenger, transferId: string, code: string): Promise<void> {
  await historyOf(messenger).grantHistoryByCode({ transferId, code })
}

export async function runHistory(
  messenger: Messenger,
  { signal, onProgress }: { signal?: AbortSignal; onProgress?: (progress: HistoryProgress) => void } = {},
): Promise<void> {
  signal?.throwIfAborted()
  const calls = historyOf(messenger)
  const unsubscribe = remoteOf(messenger).core.subscribe(({ event }) => {
    if (event.case !== "historyProgress") return
    onProgress?.({ transferId: event.value.transferId, chunks: Number(event.value.chunks) })
  })
  // A closed core has ended the call.
  const stop = () => void calls.stopHistory({}).catch(() => undefined)
  signal?.addEventListener("abort", stop, { once: true })
  try {
    await calls.runHistory({})
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  } finally {
    signal?.removeEventListener("abort", stop)
    unsubscribe()
  }
}

export async function cancelHistory(messenger: Messenger, transferId: string): Promise<void> {
  await historyOf(messenger).cancelHistory({ transferId })
}
