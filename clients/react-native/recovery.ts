// The history of a new device, and push endpoints, over the native side.
import type { Messenger } from "@signet/client/messaging"
import type { CodeOfDevice, HistoryProgress, HistoryRequest } from "@signet/client/messaging/history"
import type { PushEndpoint, PushSettings } from "@signet/client/messaging/push"
import {
  cancelHistory,
  confirmHistoryCode,
  grantHistoryByCode,
  grantHistoryByQr,
  historyRequests,
  requestHistoryByCode,
  requestHistoryByQr,
  runHistory,
} from "../core/messaging/remote/history.ts"
import { deletePushEndpoint, pushSettings, setPushEndpoint } from "../core/messaging/remote/push.ts"

/** Moves the history to a new device of the user. */
export interface Histories {
  /** On the new device. Show the QR code on this screen only: a device that scans it can write this device's history. */
  requestByQr(): Promise<{ readonly transferId: string; readonly qr: string }>
  /** On the new device: the digits that the user compares with those on each other device. */
  requestByCode(): Promise<{ readonly transferId: string; readonly codes: readonly CodeOfDevice[] }>
  /** On the new device, after the comparison. */
  confirmCode(transferId: string, compared: CodeOfDevice): Promise<void>
  /** On another device: the open requests of new devices. */
  requests(): Promise<readonly HistoryRequest[]>
  grantByQr(scanned: string): Promise<void>
  grantByCode(transferId: string, compared: string): Promise<void>
  /** Continues all transfers of this device until none is left. */
  run(options?: {
    readonly signal?: AbortSignal
    readonly onProgress?: (progress: HistoryProgress) => void
  }): Promise<void>
  cancel(transferId: string): Promise<void>
}

export const historiesOf = (messenger: Messenger): Histories => ({
  requestByQr: () => requestHistoryByQr(messenger),
  requestByCode: () => requestHistoryByCode(messenger),
  confirmCode: (transferId, compared) => confirmHistoryCode(messenger, transferId, compared),
  requests: () => historyRequests(messenger),
  grantByQr: (scanned) => grantHistoryByQr(messenger, scanned),
  grantByCode: (transferId, compared) => grantHistoryByCode(messenger, transferId, compared),
  run: (options) => runHistory(messenger, options),
  cancel: (transferId) => cancelHistory(messenger, transferId),
})

/** Where the service wakes up this device. */
export interface PushEndpoints {
  /** Undefined if the operator has not enabled pushes. */
  settings(): Promise<PushSettings | undefined>
  /**
   * Replaces the endpoint of this device, which ends with the session. Call it at each start of the app.
   *
   * @returns The id of the registration, which a webhook finds in each push: 16 bytes.
   */
  set(endpoint: PushEndpoint): Promise<Uint8Array>
  delete(): Promise<void>
}

export const pushEndpointsOf = (messenger: Messenger): PushEndpoints => ({
  settings: () => pushSettings(messenger),
  set: (endpoint) => setPushEndpoint(messenger, endpoint),
  delete: () => deletePushEndpoint(messenger),
})
