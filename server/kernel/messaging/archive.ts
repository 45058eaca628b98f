// Rules of archives: a user's sealed history at the service, as a transfer to a new device or as a backup. The archives
// of a user at a place are one document, so every change is decided and written under one lock.
import type { DeviceId } from "../ids.ts"
import { hex } from "./bytes.ts"
import { lifetimeMs, maxBytes, maxCount } from "./limits.ts"

/** One archive. Plain JSON, so that both stores write it as text. */
export interface Archive {
  /** 16 bytes in hexadecimal. */
  readonly id: string
  readonly kind: "TRANSFER" | "BACKUP"
  readonly status: "REQUESTED" | "WRITING" | "COMPLETE" | "DELETED"
  readonly createdBy: DeviceId
  /** Null for a transfer that is not granted. */
  readonly writer: DeviceId | null
  /** In hexadecimal; not read by the service. */
  readonly header: string
  /** In hexadecimal; empty without a grant. */
  readonly grant: string
  /** The first 8 bytes of the SHA-256 of each chunk, in hexadecimal. They are part of the chunks' storage keys. */
  readonly chunks: string
  readonly size: number
  readonly createdAtMs: number
  readonly expiresAtMs: number
}

/** 8 bytes in hexadecimal. */
const chunkNameLength = 16

/** Of a chunk, as the contract has it. */
export const maxChunkBytes = 1_441_792

export const chunkCount = ({ chunks }: Pick<Archive, "chunks">): number => chunks.length / chunkNameLength

/** The name of a chunk; undefined if the archive has no such chunk. */
export function chunkName({ chunks }: Pick<Archive, "chunks">, index: number): string | undefined {
  return chunks.slice(index * chunkNameLength, (index + 1) * chunkNameLength) || undefined
}

export const chunkNames = (archive: Pick<Archive, "chunks">): readonly string[] =>
  Array.from({ length: chunkCount(archive) }, (_, index) => chunkName(archive, index) ?? "")

/** Storage key of a chunk. It names the content, so a chunk that was refused replaces no accepted one. */
export const chunkKey = (id: string, index: number, name: string): string => `arc/${id}/${index}/${name}`

export const chunkKeys = (archive: Archive): readonly string[] =>
  chunkNames(archive).map((name, index) => chunkKey(archive.id, index, name))

/** The name of a chunk with these bytes, from their SHA-256. */
export const nameOfChunk = (sha256: Uint8Array): string => hex(sha256.subarray(0, chunkNameLength / 2))

/** True for an archive that callers do not see. Its chunks may not be erased yet. */
export const isArchiveGone = ({ status, expiresAtMs }: Archive, nowMs: number): boolean =>
  status === "DELETED" || expiresAtMs <= nowMs

/** The complete backup: a new one replaces it, so there is at most one. */
export const completeBackup = (archives: readonly Archive[]): Archive | undefined =>
  archives.find(({ kind, status }) => kind === "BACKUP" && status === "COMPLETE")

/** A change by a device of the user. */
export type ArchiveChange = { readonly id: string; readonly deviceId: DeviceId } & (
  | { readonly is: "create"; readonly kind: Archive["kind"]; readonly header: string }
  | { readonly is: "grant"; readonly grant: string }
  | { readonly is: "append"; readonly index: number; readonly name: string; readonly size: number }
  | { readonly is: "complete" }
  | { readonly is: "read" }
  | { readonly is: "delete" }
)

export type ArchiveDecision =
  | { readonly is: "change"; readonly archives: readonly Archive[]; readonly archive: Archive }
  /** Repeated: nothing changes. */
  | { readonly is: "there"; readonly archive: Archive }
  | {
      readonly is: "refuse"
      readonly reason: "RESOURCE_UNRESOLVED" | "STATE_CONFLICT" | "IDEMPOTENCY_MISMATCH" | "LIMIT_EXCEEDED"
    }

const refuse = (reason: Extract<ArchiveDecision, { is: "refuse" }>["reason"]): ArchiveDecision => ({
  is: "refuse",
  reason,
})
const day = 86_400_000

/**
 * Decides a change of a user's archives.
 *
 * A transfer is granted once, within 10 minutes, by another device than the one that requested it. Only the writer
 * appends, each chunk at the next index. A backup that is complete replaces the earlier ones.
 *
 * @param archives All archives of the user at the place, including those that are gone.
 */
export function decideArchive(archives: readonly Archive[], change: ArchiveChange, nowMs: number): ArchiveDecision {
  const found = archives.find(({ id }) => id === change.id)
  if (change.is === "create") return decideCreate(archives, found, change, nowMs)
  if (found === undefined || isArchiveGone(found, nowMs)) return refuse("RESOURCE_UNRESOLVED")
  const put = (next: Partial<Archive>, others = archives): ArchiveDecision => {
    const archive = { ...found, ...next }
    return { is: "change", archive, archives: others.map((one) => (one.id === archive.id ? archive : one)) }
  }
  switch (change.is) {
    case "grant":
      return decideGrant(found, change, nowMs, put)
    case "append":
      return decideAppendChunk(archives, found, change, nowMs, put)
    case "complete":
      if (found.writer !== change.deviceId) return refuse("RESOURCE_UNRESOLVED")
      if (found.status === "COMPLETE") return { is: "there", archive: found }
      if (found.chunks === "") return refuse("STATE_CONFLICT")
      if (found.kind === "TRANSFER") return put({ status: "COMPLETE" })
      return put(
        { status: "COMPLETE", expiresAtMs: nowMs + lifetimeMs.backup },
        archives.map((one) => (isReplacedBy(one, found) ? { ...one, status: "DELETED" } : one)),
      )
    case "read": {
      const isOld = found.expiresAtMs < nowMs + lifetimeMs.backup - day
      if (found.kind !== "BACKUP" || found.status !== "COMPLETE" || !isOld) return { is: "there", archive: found }
      return put({ expiresAtMs: nowMs + lifetimeMs.backup })
    }
    case "delete":
      return put({ status: "DELETED" })
  }
}

const isReplacedBy = (one: Archive, { id }: Archive): boolean =>
  one.kind === "BACKUP" && one.status === "COMPLETE" && one.id !== id

type Create = Extract<ArchiveChange, { is: "create" }>
type Grant = Extract<ArchiveChange, { is: "grant" }>
type Append = Extract<ArchiveChange, { is: "append" }>
type Put = (next: Partial<Archive>) => ArchiveDecision

function decideCreate(
  archives: readonly Archive[],
  found: Archive | undefined,
  { id, deviceId, kind, header }: Create,
  nowMs: number,
): ArchiveDecision {
  if (found !== undefined) {
    // An id is used once, also after its archive is gone.
    const isSame = found.kind === kind && found.header === header && found.createdBy === deviceId
    if (isSame && !isArchiveGone(found, nowMs)) return { is: "there", archive: found }
    return refuse("IDEMPOTENCY_MISMATCH")
  }
  // Archives whose chunks are still to be erased count, so that a loop of creating and deleting is bounded.
  if (archives.length >= maxCount.archivesPerUser) return refuse("LIMIT_EXCEEDED")
  const isTransfer = kind === "TRANSFER"
  const archive: Archive = {
    ...{ id, kind, createdBy: deviceId, header },
    ...{ status: isTransfer ? "REQUESTED" : "WRITING", writer: isTransfer ? null : deviceId },
    ...{ grant: "", chunks: "", size: 0, createdAtMs: nowMs },
    expiresAtMs: nowMs + (isTransfer ? lifetimeMs.transferRequest : lifetimeMs.upload),
  }
  return { is: "change", archive, archives: [...archives, archive] }
}

function decideGrant(found: Archive, { deviceId, grant }: Grant, nowMs: number, put: Put): ArchiveDecision {
  if (found.kind !== "TRANSFER" || found.createdBy === deviceId) return refuse("STATE_CONFLICT")
  if (found.writer === deviceId && found.grant === grant) return { is: "there", archive: found }
  if (found.status !== "REQUESTED") return refuse("STATE_CONFLICT")
  return put({ status: "WRITING", writer: deviceId, grant, expiresAtMs: nowMs + lifetimeMs.transfer })
}

function decideAppendChunk(
  archives: readonly Archive[],
  found: Archive,
  { deviceId, index, name, size }: Append,
  nowMs: number,
  put: Put,
): ArchiveDecision {
  if (found.writer !== deviceId) return refuse("RESOURCE_UNRESOLVED")
  if (chunkName(found, index) === name) return { is: "there", archive: found }
  if (found.status !== "WRITING" || index !== chunkCount(found)) return refuse("STATE_CONFLICT")
  const used = archives.reduce((sum, one) => sum + one.size, 0)
  if (index >= maxCount.chunksPerArchive || used + size > maxBytes.archives) return refuse("LIMIT_EXCEEDED")
  const expiresAtMs = found.kind === "BACKUP" ? nowMs + lifetimeMs.upload : found.expiresAtMs
  return put({ chunks: found.chunks + name, size: found.size + size, expiresAtMs })
}

/** When the next archive of a user is to be erased; null for none. */
export function archiveDueAtMs(archives: readonly Archive[]): number | null {
  const times = archives.map(({ status, expiresAtMs }) => (status === "DELETED" ? 0 : expiresAtMs))
  return times.length === 0 ? null : Math.min(...times)
}
