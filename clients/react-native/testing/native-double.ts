// A substitute for the native side: a real messenger behind a bridge that carries JSON and records everything that
// crosses.
import { fromBinary } from "@bufbuild/protobuf"
import type { ConversationInfo, Messenger, MessengerEvent, TimelineEntry } from "@signet/client/messaging"
import { EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { fromBase64, toBase64 } from "../crossing.ts"
import type {
  NativeConversation,
  NativeEntry,
  NativeEvent,
  NativeMessenger,
  NativeOptions,
} from "../native-messenger.ts"

export interface NativeSide {
  /** Opens the messenger of one of this side's sign-ins. */
  open(options: NativeOptions): Promise<Messenger>
  safetyNumber(userId: string): Promise<string>
}

export interface NativeDouble {
  readonly native: NativeMessenger
  /** Every value that crossed, in either direction, as JSON. */
  readonly crossed: readonly string[]
}

export function nativeDouble({ open, safetyNumber }: NativeSide): NativeDouble {
  const crossed: string[] = []
  const opened = new Map<string, { messenger: Messenger; stopping: AbortController }>()
  const listeners = new Set<(event: NativeEvent) => void>()
  const cross = <T>(value: T): T => {
    const json = JSON.stringify(value) ?? "null"
    crossed.push(json)
    return JSON.parse(json)
  }
  const at = (handle: string) => opened.get(handle) ?? reject("CLOSED", "no such messenger")
  const call =
    <Arguments extends readonly unknown[], T>(work: (...given: Arguments) => Promise<T>) =>
    async (...given: Arguments): Promise<T> => {
      try {
        const answer = await work(...cross(given))
        return answer === undefined ? answer : cross(answer)
      } catch (error) {
        const { reason, message } = Object(error)
        throw cross({ code: reason, message })
      }
    }
  const of =
    <Arguments extends readonly unknown[], T>(work: (messenger: Messenger, ...given: Arguments) => Promise<T>) =>
    (handle: string, ...given: Arguments): Promise<T> =>
      call((...rest: Arguments) => work(at(handle).messenger, ...rest))(...given)

  const native: NativeMessenger = {
    open: call(async (options: NativeOptions) => {
      const messenger = await open(options)
      const handle = `m${opened.size + 1}`
      opened.set(handle, { messenger, stopping: new AbortController() })
      messenger.subscribe((event) => {
        const crossing = cross({ handle, ...eventTo(event) })
        for (const listener of [...listeners]) listener(crossing)
      })
      return { handle, deviceId: messenger.deviceId }
    }),
    createDirectConversation: of(async (messenger, peer: string) =>
      conversationTo(await messenger.createDirectConversation(peer)),
    ),
    createGroupConversation: of(async (messenger, userIds: readonly string[]) =>
      conversationTo(await messenger.createGroupConversation(userIds)),
    ),
    encryptMessage: of(async (messenger, id: string, plaintext: string) => {
      const { outboxId, epoch } = await messenger.encryptMessage(id, fromBase64(plaintext))
      return { outboxId, epoch: epoch.toString() }
    }),
    processIncoming: of(async (messenger, conversationId: string, bytes: string) => {
      const envelope = fromBinary(EnvelopeSchema, fromBase64(bytes))
      const incoming = await messenger.processIncoming({ conversationId, envelope })
      return { is: incoming.is, entries: incoming.is === "processed" ? incoming.entries.map(entryTo) : [] }
    }),
    addMembers: of((messenger, id: string, userIds: readonly string[]) => messenger.addMembers(id, userIds)),
    removeMembers: of((messenger, id: string, userIds: readonly string[]) => messenger.removeMembers(id, userIds)),
    send: of(async (messenger, id: string, plaintext: string) => {
      const one = await messenger.send(id, fromBase64(plaintext))
      const { outboxId } = one
      return one.state === "queued" ? { outboxId } : { outboxId, sent: { seq: one.seq.toString(), atMs: one.atMs } }
    }),
    leave: of((messenger, id: string) => messenger.leave(id)),
    rejoin: of((messenger, id: string) => messenger.rejoin(id)),
    refreshKeys: of((messenger, id: string) => messenger.refreshKeys(id)),
    conversations: of(async (messenger) => (await messenger.conversations()).map(conversationTo)),
    timeline: of(async (messenger, id: string, after: string, limit: number) => {
      const range = after === "" ? { limit } : { afterSeq: BigInt(after), limit }
      return (await messenger.timeline(id, range)).map(entryTo)
    }),
    block: of((messenger, userId: string) => messenger.block(userId)),
    unblock: of((messenger, userId: string) => messenger.unblock(userId)),
    blockedUsers: of((messenger) => messenger.blockedUsers()),
    devices: of((messenger) => messenger.devices()),
    revokeDevice: of((messenger, id: string) => messenger.revokeDevice(id)),
    startAnew: of(async (messenger) => {
      await messenger.startAnew()
      return { deviceId: messenger.deviceId }
    }),
    safetyNumber: of((_, userId: string) => safetyNumber(userId)),
    sync: of((messenger) => messenger.sync()),
    run: call((handle: string) => at(handle).messenger.run(at(handle).stopping.signal)),
    stop: call(async (handle: string) => at(handle).stopping.abort()),
    destroyLocalState: of(async (messenger, confirm: string) => {
      if (confirm !== "destroy everything on this device") throw new TypeError("not confirmed")
      await messenger.destroyLocalState(confirm)
    }),
    close: of((messenger) => messenger.close()),
    onEvent(listener) {
      listeners.add(listener)
      return { remove: () => listeners.delete(listener) }
    },
  }
  return { native, crossed }
}

function reject(reason: string, message: string): never {
  throw Object.assign(new Error(message), { reason })
}

function conversationTo({ quarantine, processedSeq, waitsFor, ...info }: ConversationInfo): NativeConversation {
  const evidence = quarantine && {
    quarantine: {
      reason: quarantine.reason,
      seq: quarantine.seq.toString(),
      evidence: toBase64(quarantine.evidence),
    },
  }
  return { ...info, processedSeq: processedSeq.toString(), ...evidence, ...(waitsFor !== undefined && { waitsFor }) }
}

function entryTo(entry: TimelineEntry): NativeEntry {
  const { seq, atMs, is } = entry
  const at = { seq: seq.toString(), atMs, is }
  switch (entry.is) {
    case "message": {
      const { from, plaintext, outboxId, isLate, isFromBlocked } = entry
      const marks = { ...(isLate && { isLate }), ...(isFromBlocked && { isFromBlocked }) }
      const of = { ...(outboxId !== undefined && { outboxId }), ...marks }
      return { ...at, from, plaintext: toBase64(plaintext), ...of }
    }
    case "attachment": {
      const { from, fileName, mediaType, size, outboxId, isLate, isFromBlocked } = entry
      const marks = { ...(isLate && { isLate }), ...(isFromBlocked && { isFromBlocked }) }
      const of = { ...(outboxId !== undefined && { outboxId }), ...marks }
      return { ...at, from, fileName, mediaType, size, ...of }
    }
    case "membership": {
      const { committer, added, removed } = entry
      return { ...at, committer, added, removed }
    }
    case "unreadable":
      return { ...at, reason: entry.reason }
    case "missing":
      return { ...at, from: entry.from, count: entry.count }
    case "gap":
      return { ...at, afterSeq: entry.afterSeq.toString() }
    case "reset":
      return { ...at, ...(entry.by !== undefined && { from: entry.by }) }
    case "newKeys":
      return { ...at, devices: entry.devices }
  }
}

function eventTo(event: MessengerEvent): Omit<NativeEvent, "handle"> {
  switch (event.is) {
    case "entry":
      return { is: event.is, conversationId: event.conversationId, entry: entryTo(event.entry) }
    case "status": {
      const { is, conversationId, status, reason } = event
      return { is, conversationId, status, ...(reason !== undefined && { reason }) }
    }
    case "keysChanged": {
      const { is, userId, deviceIds, listFault } = event
      return { is, userId, deviceIds, ...(listFault !== undefined && { reason: listFault }) }
    }
    case "blockedUsers":
      return { is: event.is, userIds: event.userIds }
    case "queued":
      return { is: event.is, conversationId: event.conversationId, outboxId: event.outboxId }
    case "unsent": {
      const { reason, message } = Object(event.error)
      const { is, conversationId, outboxId } = event
      return { is, conversationId, outboxId, reason: String(reason ?? ""), message: String(message ?? "") }
    }
    case "failed": {
      const { reason, message } = Object(event.error)
      return { is: "failed", reason: String(reason ?? ""), message: String(message ?? "") }
    }
    case "lagged":
      return { is: "lagged" }
  }
}
