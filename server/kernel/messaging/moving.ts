// Transfers a place (an app, or one tenant of it) from one backend to another: the states of the place, the steps of a
// transfer, and the records to copy.
import type { AuditEvent } from "../audit/event.ts"
import { Refused } from "../errors.ts"
import type { AttachmentId, ConversationId, DeviceId, PrincipalId } from "../ids.ts"
import type { Archive } from "./archive.ts"
import { equalBytes } from "./bytes.ts"
import type {
  AttachmentRecord,
  BlockList,
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
 * OPEN: served here. HOLDING: new writes are refused, earlier ones may still run. HELD: nothing changes. GIVEN: as
 * HELD, and never opened here again because the target may open. RECEIVING: import in progress. MOVED: served
 * elsewhere. RECEIVING and MOVED refuse reads, too.
 */
export type PlaceState = "OPEN" | "HOLDING" | "HELD" | "GIVEN" | "RECEIVING" | "MOVED"

export type TransferStep = "HOLD" | "RECEIVE" | "FINISH" | "RELEASE" | "ABORT" | "ERASE"

export interface PlaceStatus {
  readonly state: PlaceState
  /** The newest transfer, 16 bytes; null if there was none, or it was aborted at its source. */
  readonly transferId: Uint8Array | null
  /** The time of the last change of state; null if there was none. */
  readonly changedAtMs: number | null
  readonly isEmpty: boolean
}

/** HELD is reached through HOLDING: first new writes are refused, then running ones finish. */
type StepDecision =
  | {
      readonly is: "go"
      readonly to: PlaceState
      /** What `PlaceStatus.transferId` becomes. Null after an abort: OPEN with a transfer's id is its opened target. */
      readonly transferId: Uint8Array | null
    }
  /** The step was already taken. */
  | { readonly is: "there" }
  | { readonly is: "refuse" }

const refuse: StepDecision = { is: "refuse" }

/**
 * Decides whether a step of this transfer may follow. The operator calls FINISH at the source before the target. A
 * source that has FINISHed never opens again, so no abort leaves two backends OPEN.
 */
export function decideStep(step: TransferStep, place: PlaceStatus, transferId: Uint8Array): StepDecision {
  const go = (to: PlaceState): StepDecision => ({ is: "go", to, transferId })
  const isOurs = place.transferId !== null && equalBytes(place.transferId, transferId)
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
      if ((state === "HOLDING" || state === "HELD") && isOurs) return { is: "go", to: "OPEN", transferId: null }
      if (state === "OPEN" && place.transferId === null) return { is: "there" }
      // An aborted target does not open: the source serves the place.
      if (state === "RECEIVING" && isOurs) return isEmpty ? go("MOVED") : refuse
      return state === "MOVED" && isOurs ? { is: "there" } : refuse
    case "ERASE":
      return state === "MOVED" || (state === "RECEIVING" && isOurs) ? go(state) : refuse
  }
}

/**
 * True if this transfer may export records: of its source, which does not change while it is held, or of its target,
 * to compare the copy.
 */
export const mayExport = ({ state, transferId: current }: PlaceStatus, transferId: Uint8Array): boolean =>
  (state === "HELD" || state === "GIVEN" || state === "RECEIVING") &&
  current !== null &&
  equalBytes(current, transferId)

/** Delay before a client's retry. The retry may reach the target, because the operator switches the address. */
const retryAfterSeconds = 1

/** The refusal of a write at a place that is not OPEN, and of a read at one that is not served here. */
export const placeHeld = (): Refused =>
  new Refused("PLACE_HELD", { metadata: { retry_after: String(retryAfterSeconds) } })

export const isReadable = (state: PlaceState): boolean => state !== "RECEIVING" && state !== "MOVED"

export const isWritable = (state: PlaceState): boolean => state === "OPEN"

/** A self-contained record of a place. Records are imported in this order. */
export type TransferRecord =
  | {
      readonly is: "device"
      readonly device: MessagingDevice
      /** Every leaf key that it ever had, sorted by bytes. */
      readonly leafKeys: readonly Uint8Array[]
      readonly isRevocationDue: boolean
    }
  | { readonly is: "deviceList"; readonly userId: PrincipalId; readonly list: SignedDeviceList }
  | { readonly is: "blockList"; readonly userId: PrincipalId; readonly list: BlockList }
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
      /** With an empty roster: leaves are separate records. */
      readonly conversation: Conversation
    }
  /** The idempotency key with which a device created a group. No secret. */
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
      /** The commit that added the leaf. */
      readonly fromSeq: bigint
      /** The commit that removed it; null for a member. */
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
      /** Size of the whole tree in bytes. */
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
      /** Sorted by device. */
      readonly packages: readonly { readonly deviceId: DeviceId; readonly ref: Uint8Array }[]
    }
  | { readonly is: "attachment"; readonly attachment: AttachmentRecord }
  | ({ readonly is: "backup" } & UserBackup)
  /** In the blob store, not the database: the RPC handlers add it to an export and write it at an import. */
  | {
      readonly is: "attachmentPart"
      readonly attachmentId: AttachmentId
      readonly index: number
      readonly data: Uint8Array
    }
  | {
      readonly is: "backupChunk"
      readonly userId: PrincipalId
      readonly index: number
      readonly data: Uint8Array
    }

/** The complete backup of a user. */
export interface UserBackup {
  readonly userId: PrincipalId
  readonly archive: Archive
}

/** The records in the blob store. */
export type BlobRecord = Extract<TransferRecord, { readonly is: "attachmentPart" | "backupChunk" }>

/** The records in the database. */
export type StoredRecord = Exclude<TransferRecord, BlobRecord>

/** A backend's operations for moving a place. Each method is atomic and idempotent. */
export interface PlaceMoves {
  status(place: Place): Promise<PlaceStatus>
  /**
   * Takes the step as `decideStep` decides. HOLD resolves when no write is running. The event is appended only if this
   * call takes the step. For ERASE, use `erase`.
   *
   * @throws Refused STATE_CONFLICT. UNAVAILABLE if a write does not finish.
   */
  step(of: {
    readonly place: Place
    readonly transferId: Uint8Array
    readonly step: Exclude<TransferStep, "ERASE">
    readonly nowMs: number
    readonly audit: AuditEvent
  }): Promise<PlaceStatus>
  /**
   * Erases a part of the records of a place that is served elsewhere. Repeat until the place is empty. An attachment's
   * record is erased after its bytes: `bytesDeleted` names the attachments whose bytes are deleted.
   *
   * @returns Attachments whose bytes must be deleted next; empty when no attachment is left.
   * @throws Refused STATE_CONFLICT
   */
  erase(of: {
    readonly place: Place
    readonly transferId: Uint8Array
    readonly bytesDeleted: readonly AttachmentId[]
    /** Appended with the last part. */
    readonly audit: AuditEvent
  }): Promise<readonly AttachmentRecord[]>
  /**
   * Returns the next records of a place that is HELD, GIVEN or RECEIVING by this transfer.
   *
   * @param cursor `next` of the previous page, or empty.
   * @returns Records of at most `maxBytes`, but at least one; `next` is null after the last.
   * @throws Refused STATE_CONFLICT. INVALID_FIELD for an invalid cursor.
   */
  exportPage(of: {
    readonly place: Place
    readonly transferId: Uint8Array
    readonly cursor: string
    readonly maxBytes: number
  }): Promise<{ readonly records: readonly StoredRecord[]; readonly next: string | null }>
  /**
   * Stores records at a place that is RECEIVING by this transfer. Existing records stay unchanged.
   *
   * @throws Refused STATE_CONFLICT. INVALID_FIELD if a record names another place.
   */
  importPage(of: {
    readonly place: Place
    readonly transferId: Uint8Array
    readonly records: readonly StoredRecord[]
  }): Promise<void>
  /**
   * Lists the attachments of the place in any state.
   *
   * @param cursor `next` of the previous page, or empty.
   */
  attachments(
    place: Place,
    cursor: string,
  ): Promise<{ readonly attachments: readonly AttachmentRecord[]; readonly next: string | null }>
  /** The subset of these attachments that belongs to the place. */
  attachmentsOf(place: Place, ids: readonly AttachmentId[]): Promise<readonly AttachmentRecord[]>
  /**
   * Lists the complete backups of the place's users.
   *
   * @param cursor `next` of the previous page, or empty.
   */
  backups(
    place: Place,
    cursor: string,
  ): Promise<{ readonly backups: readonly UserBackup[]; readonly next: string | null }>
  /** The complete backups of these users at the place. */
  backupsOf(place: Place, userIds: readonly PrincipalId[]): Promise<readonly UserBackup[]>
}
