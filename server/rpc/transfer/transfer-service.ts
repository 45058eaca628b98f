import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import { blobKey, partIndexes } from "@signet/kernel/messaging/attachment"
import type { BlobRecord, PlaceStatus, TransferRecord } from "@signet/kernel/messaging/moving"
import type { Place } from "@signet/kernel/messaging/records"
import type { Clock, Random } from "@signet/kernel/ports"
import {
  type Place as PlaceMessage,
  PlaceState,
  Step,
  type TransferService,
} from "@signet/proto/transfer/v1/transfer_service"
import { callerOf } from "../../serving/call/call.ts"
import { auditEvent } from "../audit/audit.ts"
import { sumBytes, tallyOf } from "./digest.ts"
import { exportedPage, putBlobs, type TransferParts } from "./page.ts"
import { recordOf } from "./read.ts"
import { recordShape } from "./records.ts"
import { named } from "./statuses.ts"

export interface TransferDeps extends TransferParts {
  readonly clock: Clock
  readonly random: Random
}

const steps = ["HOLD", "RECEIVE", "FINISH", "RELEASE", "ABORT", "ERASE"] as const
const isBlob = (record: TransferRecord): record is BlobRecord =>
  record.is === "attachmentPart" || record.is === "backupChunk"

export function transferService(deps: TransferDeps): ServiceImpl<typeof TransferService> {
  const { moving, blobs, clock } = deps
  const eventOf = (context: HandlerContext, { appId, tenantId }: Place, step: string) =>
    auditEvent(deps, context, clock.nowMs(), {
      kind: "messaging_place.changed",
      appId,
      tenantId,
      actorPrincipalId: callerOf(context).principal.id,
      target: { type: "transfer_step", id: step },
    })

  /** Erases a part of the place: the bytes of some attachments, or the records that follow all attachments. */
  async function erase(context: HandlerContext, place: Place, transferId: Uint8Array): Promise<void> {
    const audit = eventOf(context, place, "ERASE")
    const left = await moving.erase({ place, transferId, bytesDeleted: [], audit })
    if (left.length === 0) return
    for (const attachment of left) {
      for (const index of partIndexes(attachment)) await blobs.delete(blobKey(attachment, index))
    }
    await moving.erase({ place, transferId, bytesDeleted: left.map(({ id }) => id), audit })
  }

  return {
    async getPlace(request, context) {
      return { status: statusShape(await moving.status(placeOf(context, request.place))) }
    },

    async changePlace(request, context) {
      const { transferId } = request
      const place = placeOf(context, request.place)
      const step = named(steps, Step, request.step)
      if (step === "ERASE") {
        await erase(context, place, transferId)
        return { status: statusShape(await moving.status(place)) }
      }
      const audit = eventOf(context, place, step)
      const status = await moving.step({ place, transferId, step, nowMs: clock.nowMs(), audit })
      return { status: statusShape(status) }
    },

    async exportPage({ place, transferId, cursor, digestOnly }, context) {
      const page = await exportedPage(deps, { place: placeOf(context, place), transferId, cursor })
      const records = page.records.map(recordShape)
      const tally = tallyOf(records)
      return {
        records: digestOnly ? [] : records,
        nextCursor: page.next ?? "",
        digest: { sum: sumBytes(tally), counts: [...tally.counts].map(([kind, count]) => ({ kind, count })) },
      }
    },

    async importPage({ place: asked, transferId, records }, context) {
      const place = placeOf(context, asked)
      const read = records.map((record) => recordOf(record, place))
      // Called even without records of its own: it checks that the transfer may import.
      await moving.importPage({ place, transferId, records: read.flatMap((one) => (isBlob(one) ? [] : [one])) })
      await putBlobs(deps, place, read.filter(isBlob))
      return {}
    },
  }
}

const statusShape = ({ state, transferId, changedAtMs, isEmpty }: PlaceStatus) => ({
  state: PlaceState[state],
  transferId: transferId ?? new Uint8Array(),
  changedAt: changedAtMs === null ? undefined : timestampFromMs(changedAtMs),
  isEmpty,
})

/** @throws Refused APP_MISMATCH, TENANT_MISMATCH, INVALID_FIELD */
function placeOf(context: HandlerContext, asked: PlaceMessage | undefined): Place {
  const caller = callerOf(context)
  const appId = parseId("app", asked?.appId ?? "")
  const tenantId = asked?.tenantId ? parseId("ten", asked.tenantId) : null
  if (appId === undefined || tenantId === undefined) {
    throw new Refused("INVALID_FIELD", { metadata: { field: "place" } })
  }
  if (caller.appId !== appId) throw new Refused("APP_MISMATCH")
  if (caller.tenantId !== null || caller.actor !== null) throw new Refused("TENANT_MISMATCH")
  return { appId, tenantId }
}
