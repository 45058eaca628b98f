// The methods of the native core over a messenger of this process: the stories test them without an engine.
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { BackupService } from "@signet/proto/client/v1/backup_service"
import { HistoryService } from "@signet/proto/client/v1/history_service"
import {
  type ClientEvent,
  ClientEventSchema,
  MessengerService,
  type OpenRequest,
} from "@signet/proto/client/v1/messenger_service"
import { PushEndpointService } from "@signet/proto/client/v1/push_endpoint_service"
import { type Effect, EffectResultSchema, EffectSchema, OutputKind, Primitive } from "@signet/proto/host/v1/host"
import { MessagingError } from "../../../clients/core/messaging/errors.ts"
import type { Messenger } from "../../../clients/core/messaging/messenger.ts"
import { CoreError, type RemoteCore } from "../../../clients/core/messaging/remote/core.ts"
import { createFileRegistry } from "../../../clients/core/messaging/remote/files.ts"
import { eventTo } from "../../../clients/native/core/convert.ts"
import { callOf, methodsOf } from "../../../clients/native/core/dispatch.ts"
import { complete } from "../../../clients/native/core/effects.ts"
import { failureFrom } from "../../../clients/native/core/failure.ts"
import { backupHandlers } from "../../../clients/native/core/methods/backup.ts"
import { historyHandlers } from "../../../clients/native/core/methods/history.ts"
import { type MessengerHolder, messengerHandlers } from "../../../clients/native/core/methods/messenger.ts"

import { pushHandlers } from "../../../clients/native/core/methods/push.ts"
import { createStoppable } from "../../../clients/native/core/methods/stoppable.ts"

/** Of all cores of this process, as the effects of their files are. */
export const files = createFileRegistry()

type Result = NonNullable<MessageInitShape<typeof EffectResultSchema>["result"]>

async function resultOf(effect: Effect["effect"]): Promise<Result> {
  switch (effect.case) {
    case "fileInfo":
      return { case: "fileInfo", value: { size: BigInt((await files.size(effect.value.path)) ?? 0) } }
    case "fileRead": {
      const { path, offset, length } = effect.value
      return { case: "fileRead", value: { bytes: await files.read(path, Number(offset), length) } }
    }
    case "fileWrite":
      if (effect.value.bytes.length > 0) await files.write(effect.value.path, effect.value.bytes)
      return { case: "done", value: {} }
    default:
      throw new Error(`the test performs no ${effect.case}`)
  }
}

async function perform(id: number, bytes: Uint8Array): Promise<void> {
  const { effect } = fromBinary(EffectSchema, bytes)
  const result = await resultOf(effect).catch((): Result => ({ case: "failure", value: {} }))
  complete(id, toBinary(EffectResultSchema, create(EffectResultSchema, { result })))
}

/** The host of tests that share this process, which have their own primitives. */
const { host: earlier } = globalThis as { host?: (primitive: number, ...args: readonly unknown[]) => unknown }

/** The core's global function. Without an earlier one, its log is dropped. */
function host(primitive: number, ...args: readonly unknown[]): unknown {
  const [kind, id, bytes] = args
  if (primitive !== Primitive.OUTPUT || kind !== OutputKind.EFFECT) return earlier?.(primitive, ...args)
  if (typeof id === "number" && bytes instanceof Uint8Array) void perform(id, bytes)
  return undefined
}
Object.assign(globalThis, { host })

/** @param open Opens the messenger. */
export function inProcessCore(open: (request: OpenRequest) => Promise<Messenger>): RemoteCore {
  const listeners = new Set<(event: ClientEvent) => void>()
  const emit = (event: MessageInitShape<typeof ClientEventSchema>["event"]) => {
    const bytes = toBinary(ClientEventSchema, create(ClientEventSchema, { event }))
    for (const listener of [...listeners]) listener(fromBinary(ClientEventSchema, bytes))
  }
  let opened: Messenger | undefined
  const following = createStoppable("Stop")
  const transfers = createStoppable("StopHistory")
  const storing = createStoppable("StopStoringBackup")
  const holder: MessengerHolder = {
    ...{ following, transfers, storing },
    get messenger() {
      if (opened === undefined) throw new MessagingError("CLOSED", "the messenger is not open")
      return opened
    },
    async open(request) {
      opened = await open(request)
      opened.subscribe((event) => emit(eventTo(event)))
      return opened
    },
    async close() {
      for (const running of [following, transfers, storing]) running.stop()
      await opened?.close?.()
    },
    onHistoryProgress({ transferId, chunks }) {
      emit({ case: "historyProgress", value: { transferId, chunks: BigInt(chunks) } })
    },
    onProgress(conversationId, path, done, total) {
      emit({ case: "progress", value: { conversationId, path, doneBytes: BigInt(done), totalBytes: BigInt(total) } })
    },
  }
  const methods = new Map([
    ...methodsOf(MessengerService, messengerHandlers(holder)),
    ...methodsOf(BackupService, backupHandlers(holder)),
    ...methodsOf(HistoryService, historyHandlers(holder)),
    ...methodsOf(PushEndpointService, pushHandlers(holder)),
  ])
  return {
    async call(method, request) {
      try {
        return await callOf(methods, method, request)
      } catch (error) {
        throw new CoreError(failureFrom(error))
      }
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
