// A user's sealed history: transfers to a new device, and backups. Only devices of the user see them.

import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import { sha256 } from "@noble/hashes/sha2.js"
import type { AuditKind } from "@signet/kernel/audit/event"
import { Refused } from "@signet/kernel/errors"
import {
  type Archive,
  type ArchiveChange,
  chunkCount,
  chunkKey,
  chunkKeys,
  chunkName,
  isArchiveGone,
  nameOfChunk,
} from "@signet/kernel/messaging/archive"
import { fromHex, hex } from "@signet/kernel/messaging/bytes"
import { maxBytes, maxCount } from "@signet/kernel/messaging/limits"
import {
  type ArchiveService,
  Archive_Kind as Kind,
  Archive_Status as Status,
} from "@signet/proto/messaging/v1/archive_service"
import { deviceOf } from "../../../serving/call/calling-device.ts"
import { auditEvent } from "../../audit/audit.ts"
import { unresolved } from "../conversation/seen.ts"
import { counted } from "../counted.ts"
import type { MessagingDeps } from "../deps.ts"
import { limitExceeded } from "../refusing.ts"

type Wanted = ArchiveChange extends infer One
  ? One extends ArchiveChange
    ? Omit<One, "id" | "deviceId">
    : never
  : never

const auditKinds: Readonly<Partial<Record<ArchiveChange["is"], AuditKind>>> = {
  create: "archive.created",
  grant: "archive.granted",
  complete: "archive.completed",
  delete: "archive.deleted",
}

export function archiveService(deps: MessagingDeps): ServiceImpl<typeof ArchiveService> {
  const { blobs, clock } = deps
  return {
    async createArchive({ archiveId, kind, header }, context) {
      await counted(deps, context, "messaging_attachment", { device: deviceOf(context).id })
      const of = kind === Kind.TRANSFER ? "TRANSFER" : "BACKUP"
      const archive = await change(deps, context, archiveId, { is: "create", kind: of, header: hex(header) })
      return { archive: archiveShape(archive) }
    },

    async grantTransfer({ archiveId, grant }, context) {
      await counted(deps, context, "messaging_attachment", { device: deviceOf(context).id })
      return { archive: archiveShape(await change(deps, context, archiveId, { is: "grant", grant: hex(grant) })) }
    },

    async appendChunk({ archiveId, index, data }, context) {
      return { archive: archiveShape(await appendChunk(deps, context, archiveId, index, data)) }
    },

    async completeArchive({ archiveId }, context) {
      const archive = await change(deps, context, archiveId, { is: "complete" })
      await eraseGone(deps, await goneOf(deps, context))
      return { archive: archiveShape(archive) }
    },

    async readChunk({ archiveId, index }, context) {
      await countChunk(deps, context)
      const archive = await change(deps, context, archiveId, { is: "read" })
      const name = chunkName(archive, index)
      if (name === undefined) {
        throw new Refused("INVALID_FIELD", {
          message: "index is not a chunk of the archive",
          metadata: { field: "index" },
        })
      }
      const data = await blobs.get(chunkKey(archive.id, index, name))
      if (data === undefined) throw new Refused("UNAVAILABLE", { cause: new Error("a stored chunk is missing") })
      return { data }
    },

    async listArchives(_, context) {
      const { userId, ...place } = deviceOf(context)
      const all = await deps.store.archives.ofUser(userId, place)
      return { archives: all.filter((one) => !isArchiveGone(one, clock.nowMs())).map(archiveShape) }
    },

    async deleteArchive({ archiveId }, context) {
      await change(deps, context, archiveId, { is: "delete" }).catch(ignoreUnknown)
      await eraseGone(deps, await goneOf(deps, context))
      return {}
    },
  }
}

async function appendChunk(
  deps: MessagingDeps,
  context: HandlerContext,
  archiveId: Uint8Array,
  index: number,
  data: Uint8Array,
): Promise<Archive> {
  await countChunk(deps, context)
  const { userId, ...place } = deviceOf(context)
  const name = nameOfChunk(sha256(data))
  // Recorded before it is stored: an archive that is erased names all of its chunks. A repeated call stores it again.
  const archive = await change(deps, context, archiveId, { is: "append", index, name, size: data.length })
  const key = chunkKey(archive.id, index, name)
  await deps.blobs.put(key, data)
  const now = (await deps.store.archives.ofUser(userId, place)).find((one) => one.id === archive.id)
  if (now !== undefined && !isArchiveGone(now, deps.clock.nowMs())) return archive
  // It was erased before the chunk was stored.
  await deps.blobs.delete(key)
  throw unresolved()
}

async function goneOf(deps: MessagingDeps, context: HandlerContext): Promise<readonly Gone[]> {
  const { userId, appId, tenantId } = deviceOf(context)
  const place = { appId, tenantId }
  const all = await deps.store.archives.ofUser(userId, place)
  return all.filter((one) => isArchiveGone(one, deps.clock.nowMs())).map((archive) => ({ userId, place, archive }))
}

/** @throws Refused as `decideArchive` decides */
async function change(
  deps: MessagingDeps,
  context: HandlerContext,
  archiveId: Uint8Array,
  wanted: Wanted,
): Promise<Archive> {
  const { id: deviceId, userId, appId, tenantId } = deviceOf(context)
  const nowMs = deps.clock.nowMs()
  const place = { appId, tenantId }
  const id = hex(archiveId)
  const kind = auditKinds[wanted.is]
  const facts = { ...place, actorPrincipalId: userId, subjectPrincipalId: userId, target: { type: "archive", id } }
  const audit = kind === undefined ? null : auditEvent(deps, context, nowMs, { ...facts, kind })
  const done = await deps.store.archives.change({ userId, place, change: { ...wanted, id, deviceId } }, nowMs, audit)
  if (done.is !== "refuse") return done.archive
  if (done.reason === "RESOURCE_UNRESOLVED") throw unresolved()
  if (done.reason !== "LIMIT_EXCEEDED") throw new Refused(done.reason)
  throw wanted.is === "create"
    ? limitExceeded("archives_per_user", maxCount.archivesPerUser)
    : limitExceeded("archives_bytes", maxBytes.archives)
}

function countChunk(deps: MessagingDeps, context: HandlerContext): Promise<void> {
  const { id, userId } = deviceOf(context)
  return counted(deps, context, "messaging_part", { device: id, user: userId })
}

type Gone = Awaited<ReturnType<MessagingDeps["store"]["archives"]["due"]>>[number]

/**
 * Erases archives that are gone: first the chunks, then the record, so that an interrupted call is repeated. An archive
 * that cannot be erased stops no other one.
 *
 * @throws The first failure, after all archives.
 */
export async function eraseGone(
  { store, blobs, clock }: Pick<MessagingDeps, "store" | "blobs" | "clock">,
  gone: readonly Gone[],
): Promise<void> {
  const failures: unknown[] = []
  for (const { archive, ...of } of gone) {
    try {
      for (const key of chunkKeys(archive)) await blobs.delete(key)
      await store.archives.forget(of, archive.id, clock.nowMs())
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}

/** Erases the archives that are due. */
export async function sweepArchives(deps: Pick<MessagingDeps, "store" | "blobs" | "clock">): Promise<void> {
  await eraseGone(deps, await deps.store.archives.due(deps.clock.nowMs(), 100))
}

function ignoreUnknown(error: unknown): void {
  if (!(error instanceof Refused) || error.reason !== "RESOURCE_UNRESOLVED") throw error
}

const statuses = { REQUESTED: Status.REQUESTED, WRITING: Status.WRITING, COMPLETE: Status.COMPLETE } as const

const archiveShape = (archive: Archive) => ({
  archiveId: fromHex(archive.id),
  kind: archive.kind === "TRANSFER" ? Kind.TRANSFER : Kind.BACKUP,
  status: archive.status === "DELETED" ? Status.UNSPECIFIED : statuses[archive.status],
  createdByDeviceId: archive.createdBy,
  writerDeviceId: archive.writer ?? "",
  header: fromHex(archive.header),
  grant: fromHex(archive.grant),
  chunkCount: chunkCount(archive),
  size: BigInt(archive.size),
  createdAt: timestampFromMs(archive.createdAtMs),
  expiresAt: timestampFromMs(archive.expiresAtMs),
})
