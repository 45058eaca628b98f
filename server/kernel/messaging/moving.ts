// Moving a place from one backend to another: where it stands, which step follows, and what is carried over.
import type { AuditEvent } from "../audit/event.ts"
import { Refused } from "../errors.ts"
import type { AttachmentId, ConversationId, DeviceId, PrincipalId } from "../ids.ts"
import type {
  AttachmentRecord,
  ClaimRecord,
  Conversation,
  Cursor,
  Envelope,
  KeyPackageRecord,
  Leaf,
  MessagingDevice,
  Place,
  SignedDeviceList,
  WelcomeRecord,
} from "./records.ts"

/**
 * OPEN: served here. HOLDING: writes are refused, those that began before may not have ended. HELD: nothing changes any
 * more. GIVEN: the same, and it is never opened here again, because the target may open. RECEIVING: being filled. MOVED:
 * served elsewhere. In the last two reads are refused as well.
 */
export type PlaceState = "OPEN" | "HOLDING" | "HELD" | "GIVEN" | "RECEIVING" | "MOVED"

export type TransferStep = "HOLD" | "RECEIVE" | "FINISH" | "RELEASE" | "ABORT" | "ERASE"

export interface PlaceStatus {
  readonly state: PlaceState
  /** Of the newest transfer, 16 bytes; null when there was none. */
  readonly transferId: Uint8Array | null
  /** Null when it was never held. */
  readonly changedAtMs: number | null
  readonly isEmpty: boolean
}

export type StepDecision =
  /** "HELD" is reached through HOLDING: first no more writes begin, then those that had begun end. */
  | { readonly is: "go"; readonly to: PlaceState }
  /** It was taken before. */
  | { readonly is: "there" }
  | { readonly is: "refuse" }

const go = (to: PlaceState): StepDecision => ({ is: "go", to })
const refuse: StepDecision = { is: "refuse" }

/**
 * Whether a step of this transfer follows. FINISH is taken at the source before it is at the target: from then on the
 * source is not opened again, so two backends are never OPEN, wherever who moves stops or aborts.
 */
export function decideStep(step: TransferStep, place: PlaceStatus, transferId: Uint8Array): StepDecision {
  const isOurs = place.transferId !== null && isSame(place.transferId, transferId)
  const { state, isEmpty } = place
  switch (step) {
    case "HOLD":
      if (state === "OPEN") return go("HELD")
      if (state === "HOLDING" && isOurs) return go("HELD")
      return (state === "HELD" || state === "GIVEN") && isOurs ? { is: "there" } : refuse
    case "RECEIVE":
      if (state === "RECEIVING" && isOurs) return { is: "there" }
      return (state === "OPEN" || state === "MOVED") && isEmpty ? go("RECEIVING") : refuse
    case "FINISH":
      if ((state === "OPEN" || state === "GIVEN") && isOurs) return { is: "there" }
      if (state === "HELD" && isOurs) return go("GIVEN")
      return state === "RECEIVING" && isOurs ? go("OPEN") : refuse
    case "RELEASE":
      if (state === "MOVED" && isOurs) return { is: "there" }
      return state === "GIVEN" && isOurs ? go("MOVED") : refuse
    case "ABORT":
      if ((state === "HOLDING" || state === "HELD") && isOurs) return go("OPEN")
      // What was never opened is served elsewhere: it stays closed.
      if (state === "RECEIVING" && isOurs) return isEmpty ? go("MOVED") : refuse
      return (state === "OPEN" || state === "MOVED") && isOurs ? { is: "there" } : refuse
    case "ERASE":
      return state === "MOVED" || (state === "RECEIVING" && isOurs) ? go(state) : refuse
  }
}

/** Records are told of a place that does not change: a source that is held, a target that is filled. */
export const mayExport = ({ state, transferId: of }: PlaceStatus, transferId: Uint8Array): boolean =>
  (state === "HELD" || state === "GIVEN" || state === "RECEIVING") && of !== null && isSame(of, transferId)

const isSame = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, i) => byte === b[i])

/** How long a client waits before it tries again, in seconds. */
const againSeconds = 1

/** What a write meets at a place that is not OPEN, and a read at one that is not served here. */
export const placeHeld = (): Refused => new Refused("PLACE_HELD", { metadata: { retry_after: String(againSeconds) } })

export const isReadable = (state: PlaceState): boolean => state !== "RECEIVING" && state !== "MOVED"

export const isWritable = (state: PlaceState): boolean => state === "OPEN"

/** One thing that is kept of a place, whole in itself, in the order in which they are imported. */
export type TransferRecord =
  | {
      readonly is: "device"
      readonly device: MessagingDevice
      /** Every leaf key that it ever had, in order of their bytes. */
      readonly leafKeys: readonly Uint8Array[]
      readonly isRevocationDue: boolean
    }
  | { readonly is: "deviceList"; readonly userId: PrincipalId; readonly list: SignedDeviceList }
  | {
      readonly is: "proofNonce"
      readonly deviceId: DeviceId
      readonly nonce: Uint8Array
      readonly expiresAtMs: number
    }
  | { readonly is: "keyPackage"; readonly keyPackage: KeyPackageRecord }
  | {
      readonly is: "initKey"
      readonly deviceId: DeviceId
      readonly initKey: Uint8Array
      readonly packageHash: Uint8Array
    }
  | {
      readonly is: "conversation"
      /** With an empty roster: its leaves come apart. */
      readonly conversation: Conversation
    }
  | {
      readonly is: "groupKey"
      readonly deviceId: DeviceId
      readonly key: Uint8Array
      readonly requestHash: Uint8Array
      readonly conversationId: ConversationId
    }
  | {
      readonly is: "leaf"
      readonly conversationId: ConversationId
      readonly leaf: Leaf
      readonly fromSeq: bigint
      readonly toSeq: bigint | null
    }
  | { readonly is: "envelope"; readonly conversationId: ConversationId; readonly envelope: Envelope }
  | {
      readonly is: "groupInfo"
      readonly conversationId: ConversationId
      readonly epoch: bigint
      readonly info: Uint8Array
    }
  | {
      readonly is: "treeChunk"
      readonly conversationId: ConversationId
      readonly hash: Uint8Array
      /** Of the whole tree. */
      readonly size: number
      readonly index: number
      readonly chunk: Uint8Array
    }
  | {
      readonly is: "cursor"
      readonly conversationId: ConversationId
      readonly deviceId: DeviceId
      readonly cursor: Cursor
      readonly seenAtMs: number | null
    }
  | { readonly is: "welcome"; readonly welcome: WelcomeRecord }
  | {
      readonly is: "claim"
      readonly claim: Omit<ClaimRecord, "packages">
      /** In order of their devices. */
      readonly packages: readonly { readonly deviceId: DeviceId; readonly ref: Uint8Array }[]
    }
  | { readonly is: "attachment"; readonly attachment: AttachmentRecord }
  /** Kept in the blob store: whoever exports adds it, whoever imports puts it there. */
  | {
      readonly is: "attachmentPart"
      readonly attachmentId: AttachmentId
      readonly index: number
      readonly data: Uint8Array
    }

export type TransferKind = TransferRecord["is"]

/** All that a store keeps: attachments' bytes are elsewhere. */
export type StoredRecord = Exclude<TransferRecord, { readonly is: "attachmentPart" }>

/** What a backend does for who moves a place. Each method is atomic on its own, and may be done again. */
export interface Moving {
  status(place: Place): Promise<PlaceStatus>
  /**
   * Takes the step that `decideStep` says; of HOLD it returns when no write is under way. The event is appended when the
   * step was taken, and not when it was before. ERASE is another method.
   *
   * @throws Refused STATE_CONFLICT. UNAVAILABLE when a write does not end.
   */
  step(of: {
    readonly place: Place
    readonly transferId: Uint8Array
    readonly step: Exclude<TransferStep, "ERASE">
    readonly nowMs: number
    readonly audit: AuditEvent
  }): Promise<PlaceStatus>
  /**
   * Erases a part of what is kept of a place that is served elsewhere; again until it is empty. Attachments go first, and
   * when their bytes are gone: the caller says whose are.
   *
   * @returns Attachments whose bytes are to go next; none when there are no more.
   * @throws Refused STATE_CONFLICT
   */
  erase(of: {
    readonly place: Place
    readonly transferId: Uint8Array
    readonly forgotten: readonly AttachmentId[]
    /** Appended with the last part. */
    readonly audit: AuditEvent
  }): Promise<readonly AttachmentRecord[]>
  /**
   * The next records of a place that is HELD, GIVEN or RECEIVING by this transfer.
   *
   * @param cursor `next` of the page before, or empty.
   * @returns At most `maxBytes` of them, or one; next is null after the last.
   * @throws Refused STATE_CONFLICT. INVALID_FIELD for a cursor that is none.
   */
  exportPage(of: {
    readonly place: Place
    readonly transferId: Uint8Array
    readonly cursor: string
    readonly maxBytes: number
  }): Promise<{ readonly records: readonly StoredRecord[]; readonly next: string | null }>
  /**
   * Keeps them at a place that is RECEIVING by this transfer. What is there already stays as it is.
   *
   * @throws Refused STATE_CONFLICT. INVALID_FIELD when one names something of another place.
   */
  importPage(of: {
    readonly place: Place
    readonly transferId: Uint8Array
    readonly records: readonly StoredRecord[]
  }): Promise<void>
  /** Attachments of the place, whatever its state, page by page. @param cursor `next` of the page before, or empty. */
  attachments(
    place: Place,
    cursor: string,
  ): Promise<{ readonly attachments: readonly AttachmentRecord[]; readonly next: string | null }>
  /** Those of these that are at the place. */
  attachmentsOf(place: Place, ids: readonly AttachmentId[]): Promise<readonly AttachmentRecord[]>
}
