// The messenger of the other platforms over the native side. Attachments are files.
import type {
  AttachmentOptions,
  MessagingConfig,
  Messenger,
  MessengerOptions,
  SentMessage,
} from "@signet/client/messaging"
import { MessengerService } from "@signet/proto/client/v1/messenger_service"
import { callsOf, type RemoteCore } from "../core/messaging/remote/core.ts"
import { createFileRegistry } from "../core/messaging/remote/files.ts"
import { openRemoteMessenger } from "../core/messaging/remote/remote-messenger.ts"
import { type Backups, backupsOver } from "./backup.ts"
import { toClientError } from "./errors.ts"
import { type Histories, historiesOf, type PushEndpoints, pushEndpointsOf } from "./recovery.ts"

export interface ReactNativeMessengerOptions extends Pick<MessengerOptions, "whenKeysChange"> {
  readonly messaging: MessagingConfig
  /** Audience of the messaging service. Default: the auth service's own. */
  readonly audience?: string
}

/** The native side reads and writes files itself: no content of theirs is in JavaScript. */
export interface FileTransfers {
  /** Uploads a file and sends the message with its key. @param path Absolute, and outside of the client's data folder. */
  sendAttachment(
    conversationId: string,
    path: string,
    options?: Omit<AttachmentOptions, "signal">,
  ): Promise<SentMessage>
  /**
   * Downloads an attachment into a new file. Only verified bytes are written.
   *
   * @param seq Of the timeline entry.
   * @param path A file that does not exist yet, or with `from` the part of it that an interrupted call wrote.
   */
  saveAttachment(
    conversationId: string,
    seq: bigint,
    path: string,
    options?: { readonly from?: number },
  ): Promise<{ readonly size: number }>
}

export interface ReactNativeMessenger extends Omit<Messenger, "sendAttachment" | "openAttachment">, FileTransfers {
  readonly backup: Backups
  readonly history: Histories
  readonly push: PushEndpoints
}

/** @throws MessagingError, SecretBoxError as the messenger of the other platforms. */
export async function openMessenger(
  core: RemoteCore,
  options: ReactNativeMessengerOptions,
): Promise<ReactNativeMessenger> {
  const opened = await openRemoteMessenger(core, { ...options, files: createFileRegistry() })
  const { openAttachment: _, ...messenger } = opened
  return {
    ...{ ...messenger, ...fileTransfers(core) },
    ...{ backup: backupsOver(core), history: historiesOf(opened), push: pushEndpointsOf(opened) },
    get deviceId() {
      return opened.deviceId
    },
  }
}

function fileTransfers(core: RemoteCore): FileTransfers {
  const calls = callsOf(core, MessengerService, toClientError)
  return {
    async sendAttachment(conversationId, path, options = {}) {
      const { mediaType = "", fileName = "", resume = "", onProgress } = options
      const unsubscribe = core.subscribe(({ event }) => {
        if (event.case !== "progress" || event.value.path !== path) return
        if (event.value.conversationId !== conversationId) return
        onProgress?.(Number(event.value.doneBytes), Number(event.value.totalBytes))
      })
      try {
        const request = { conversationId, path, mediaType, fileName, resume }
        const { outboxId, seq, atMs } = await calls.sendAttachment(request)
        return { state: "sent", conversationId, outboxId, seq, atMs: Number(atMs) }
      } finally {
        unsubscribe()
      }
    },
    async saveAttachment(conversationId, seq, path, { from = 0 } = {}) {
      const { size } = await calls.saveAttachment({ conversationId, seq, path, from: BigInt(from) })
      return { size: Number(size) }
    },
  }
}
