// Store interfaces for users: their archives and the users whom they block.
import type { AuditEvent } from "../../audit/event.ts"
import type { PrincipalId } from "../../ids.ts"
import type { Archive, ArchiveChange, ArchiveDecision } from "../archive.ts"
import type { BlockChange } from "../block.ts"
import type { BlockList, Place } from "../records.ts"

/** The archives of users. Chunks are in the blob store. */
export interface Archives {
  /** All archives of the user at the place, including those that are gone, oldest first. */
  ofUser(userId: PrincipalId, place: Place): Promise<readonly Archive[]>
  /** Changes the user's archives as `decideArchive` decides, under a lock. */
  change(
    of: OfArchives & { readonly change: ArchiveChange },
    nowMs: number,
    audit: AuditEvent | null,
  ): Promise<ArchiveDecision>
  /** Archives whose chunks are to be erased. A backend that erases them by itself returns none. */
  due(nowMs: number, limit: number): Promise<readonly (OfArchives & { readonly archive: Archive })[]>
  /** Deletes the record of an archive that is gone, after its chunks. Idempotent. */
  forget(of: OfArchives, id: string, nowMs: number): Promise<void>
}

interface OfArchives {
  readonly userId: PrincipalId
  readonly place: Place
}

export interface Blocks {
  /** The users whom the user blocks at the place. */
  ofUser(userId: PrincipalId, place: Place): Promise<BlockList>
  /**
   * Blocks or unblocks a user as `decideBlock` decides, under a lock of the list. A claim that begins after this call
   * has returned follows the change.
   *
   * @returns The list after the call; "full" if it has the maximum number of users.
   */
  change(
    of: { readonly userId: PrincipalId; readonly place: Place; readonly change: BlockChange },
    audit: AuditEvent,
  ): Promise<{ is: "done" | "there"; list: BlockList } | { is: "full" }>
  /** The subset of these users who block the user, in no order. */
  blockersOf(userId: PrincipalId, among: readonly PrincipalId[], place: Place): Promise<readonly PrincipalId[]>
}
