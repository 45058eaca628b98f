// The calls that tenants and contexts share: both are read, renamed, suspended, resumed and archived.
import { create, type DescMessage, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf"
import type { FieldMask } from "@bufbuild/protobuf/wkt"
import type { HandlerContext } from "@connectrpc/connect"
import { type Move, placeMoves } from "@signet/kernel/administration/moves"
import type { Place } from "@signet/kernel/administration/ports"
import type { PlaceStatus } from "@signet/kernel/administration/records"
import type { AuditKind } from "@signet/kernel/audit/event"
import { Refused } from "@signet/kernel/errors"
import type { Deps } from "../deps.ts"
import { refuseClosed } from "../field-behavior.ts"
import { changed } from "../field-mask.ts"
import { type AdminTransaction, administer } from "./administer.ts"
import { refuseStale } from "./etag.ts"
import type { Take } from "./found.ts"
import { given, moved, refuseBlank } from "./outcome.ts"

interface PlaceRecord {
  readonly id: string
  readonly name: string
  readonly status: PlaceStatus
  readonly updatedAtMs: number
}

/** @typeParam Named How a request names the record. */
interface Kind<Row extends PlaceRecord, Desc extends DescMessage, Named> {
  readonly type: "tenant" | "context"
  readonly schema: Desc
  /** Finds the record within the caller's reach. @throws Refused RESOURCE_UNRESOLVED */
  readonly found: (admin: AdminTransaction, of: Named, take: Take) => Promise<Row>
  readonly store: (admin: AdminTransaction) => { update(row: Row): Promise<void> }
  readonly placeOf: (row: Row) => Place
  readonly shape: (row: Row) => MessageInitShape<Desc>
}

interface Update<Desc extends DescMessage> {
  readonly values: MessageShape<Desc> | undefined
  readonly mask: FieldMask | undefined
}

export function placeResource<Row extends PlaceRecord, Desc extends DescMessage, Named>(
  deps: Deps,
  { type, schema, found, store, placeOf, shape }: Kind<Row, Desc, Named>,
) {
  const record = (admin: AdminTransaction, kind: AuditKind, row: Row): Promise<void> =>
    admin.record(kind, { place: placeOf(row), target: { type, id: row.id } })

  const move = (kind: AuditKind, to: Move<PlaceStatus>) => (of: Named, call: HandlerContext) =>
    administer(deps, call, "write", async (admin) => {
      const row = await found(admin, of, "lock")
      const next = moved(row, to)
      if (next === undefined) return shape(row)
      const updated = { ...next, updatedAtMs: admin.nowMs }
      await store(admin).update(updated)
      if (to.to !== "ACTIVE") await admin.tx.endings.endByPlace(placeOf(row), kind, admin.nowMs)
      else await admin.tx.endings.reopenPlace(placeOf(row), admin.nowMs)
      await record(admin, kind, updated)
      return shape(updated)
    })

  return {
    record,

    /** The record as the caller asks to create it. @throws Refused INVALID_FIELD, OUTPUT_ONLY_FIELD */
    asked(values: MessageShape<Desc> | undefined): MessageShape<Desc> {
      const message = given(values, type)
      refuseClosed(schema, message, "create", type)
      return message
    },

    get: (of: Named, call: HandlerContext) =>
      administer(deps, call, "read", async (admin) => shape(await found(admin, of, "find"))),

    /** Only the name can change. @throws Refused STATE_CONFLICT if it is archived. */
    rename: (of: Named, call: HandlerContext, { values, mask }: Update<Desc>) =>
      administer(deps, call, "write", async (admin) => {
        const row = await found(admin, of, "lock")
        const current = create(schema, shape(row))
        const asked = given(values, type)
        const { message } = changed(current, { desc: schema, values: asked, mask, path: type })
        const name = nameOf(message)
        refuseBlank(name, `${type}.name`)
        if (row.status === "ARCHIVED") throw new Refused("STATE_CONFLICT")
        if (name === row.name) return shape(row)
        refuseStale(schema, current, asked)
        const updated = { ...row, name, updatedAtMs: admin.nowMs }
        await store(admin).update(updated)
        await record(admin, `${type}.updated`, updated)
        return shape(updated)
      }),

    suspend: move(`${type}.suspended`, placeMoves.suspend),
    resume: move(`${type}.resumed`, placeMoves.resume),
    archive: move(`${type}.archived`, placeMoves.archive),
  }
}

const nameOf = (message: object): string => ("name" in message && typeof message.name === "string" ? message.name : "")
