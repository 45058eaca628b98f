// Store interfaces for devices: their lists, key packages and the nonces of their proofs.
import type { AuditEvent } from "../../audit/event.ts"
import type { ClaimId, ConversationId, DeviceId, PrincipalId, SessionId } from "../../ids.ts"
import type { Inventory } from "../key-package.ts"
import type { ClaimTargets } from "../membership.ts"
import type { ClaimRecord, KeyPackageRecord, MessagingDevice, Place, SignedDeviceList } from "../records.ts"

export interface Devices {
  /**
   * @param at The expected place. It distinguishes an unknown device from a place that is not served here.
   * @throws Refused PLACE_HELD if the place is being filled or is served elsewhere.
   */
  find(id: DeviceId, at?: Place): Promise<MessagingDevice | undefined>
  /** The device, of any user, that has or had this leaf key. */
  findByKey(leafKey: Uint8Array): Promise<MessagingDevice | undefined>
  /** All devices of the user at the place, newest first, and the newest list, read at one instant. */
  ofUser(
    userId: PrincipalId,
    place: Place,
  ): Promise<{ devices: readonly MessagingDevice[]; newest: SignedDeviceList | undefined }>
  /** ACTIVE devices of these users at the place. */
  activeOf(userIds: readonly PrincipalId[], place: Place): Promise<readonly MessagingDevice[]>
  /** Lists after that version, oldest first, without gaps. */
  lists(userId: PrincipalId, place: Place, afterVersion: bigint, limit: number): Promise<readonly SignedDeviceList[]>
  /**
   * Compares and swaps: if the newest list is still the predecessor of `list`, writes the changed devices, the list and
   * the session's binding. Records revocations, whose effects `dueEffects` then lists.
   *
   * @returns "lost" if another change was first, if the leaf key belongs to another device, or if this change is complete
   * already: read and decide again.
   */
  change(of: DeviceChange): Promise<"done" | "lost">
  /** Binds another session to an existing device. Idempotent. */
  bindSession(sessionId: SessionId, deviceId: DeviceId, audit: AuditEvent): Promise<void>
  /** Revocations whose effects on key packages, welcomes and conversations may be incomplete; oldest first. */
  dueEffects(limit: number): Promise<readonly { deviceId: DeviceId; userId: PrincipalId }[]>
  /**
   * Marks the effects as complete: key packages retired, welcomes voided, directives issued. Each of these is
   * idempotent.
   */
  effectsDone(deviceId: DeviceId): Promise<void>
}

export interface DeviceChange {
  readonly userId: PrincipalId
  readonly place: Place
  /** Inserted, or replaced by id. */
  readonly devices: readonly MessagingDevice[]
  readonly list: SignedDeviceList
  readonly bind: { readonly sessionId: SessionId; readonly deviceId: DeviceId } | null
  /** Every session that is bound to one of these devices is ended, except the session of `bind`. */
  readonly revoked: readonly DeviceId[]
  readonly nowMs: number
  readonly audit: readonly AuditEvent[]
}

export interface KeyPackages {
  /**
   * Adds all packages or none. Packages that exist with the same bytes and device are left unchanged in any status, so
   * an upload can be retried. A new last resort retires the previous one.
   */
  upload(
    packages: readonly KeyPackageRecord[],
    nowMs: number,
  ): Promise<{ is: "done"; inventory: Inventory } | { is: "duplicate" } | { is: "full"; inventory: Inventory }>
  /**
   * Claims one package for each active device of the targets except the requester, chosen by `chooseKeyPackage`. A device
   * without an available package is left out; `low` names devices that should upload more.
   * Two claims never get the same package, except for a last resort. The same id and request always return the same
   * record; another request under the id returns "mismatch".
   * A device whose user blocks the requester is answered as one without a package, also if it was claimed before the
   * block. A claim for more devices than a commit adds (`maxCount.subjectsPerCommit`) is "tooMany" and takes nothing.
   * `inventory` is the requester's own.
   */
  claim(
    of: {
      id: ClaimId
      requester: { deviceId: DeviceId; userId: PrincipalId }
      conversationId: ConversationId
      targets: ClaimTargets
      /** Users whose packages the requester gets even if they block the requester. */
      addable: readonly PrincipalId[]
      place: Place
      requestHash: Uint8Array
    },
    nowMs: number,
    audit: AuditEvent,
  ): Promise<
    | { is: "claimed"; claim: ClaimRecord; low: readonly DeviceId[]; inventory: Inventory }
    | { is: "mismatch" }
    | { is: "tooMany" }
  >
  inventory(deviceId: DeviceId, nowMs: number): Promise<Inventory>
  /** Retires AVAILABLE packages: the given refs, or all. Idempotent. */
  retire(deviceId: DeviceId, refs: readonly Uint8Array[] | "all"): Promise<void>
}

export interface ProofNonces {
  /** Remembers a device's nonce until it expires. False if it is already stored: a replay. */
  use(deviceId: DeviceId, nonce: Uint8Array, expiresAtMs: number): Promise<boolean>
}
