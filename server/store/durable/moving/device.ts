// Export and import of a device's records, inside its object: first the records that claims refer to, then those that
// refer to conversations.
import type { AttachmentId, ClaimId, ConversationId, DeviceId } from "@signet/kernel/ids"
import type { StoredRecord } from "@signet/kernel/messaging/moving"
import type { KeyPackageRecord, WelcomeRecord } from "@signet/kernel/messaging/records"
import { type PackageRow, packageColumns, packageOf, packageValues } from "../device/key-packages.ts"
import { fromText, toText } from "../plain.ts"
import { marks, type Sql } from "../sql.ts"
import type { Part } from "./pages.ts"

interface NonceRow {
  nonce: Uint8Array
  expires_at: number
}
interface InitKeyRow {
  init_key: Uint8Array
  package_hash: Uint8Array
}
interface GroupKeyRow {
  key: Uint8Array
  request_hash: Uint8Array
  conversation_id: ConversationId
}
interface WelcomeRow {
  id: string
  status: WelcomeRecord["status"]
  welcome: Uint8Array
  consumed_with_key: Uint8Array | null
  rest: string
}
interface ClaimRow {
  id: ClaimId
  conversation_id: ConversationId
  request_hash: Uint8Array
  without_device_ids: string
  claimed_at: number
}

const noBytes = [new Uint8Array()] as const
const noText = [""] as const
const columns = packageColumns.join(", ")

export const packageParts = (sql: Sql, deviceId: DeviceId): readonly Part[] => [
  {
    rows: (after, limit) =>
      sql
        .rows<NonceRow>("select * from nonce where nonce > ? order by nonce limit ?", ...(after ?? noBytes), limit)
        .map(({ nonce, expires_at: expiresAtMs }) => ({
          key: [nonce],
          record: { is: "proofNonce", deviceId, nonce, expiresAtMs },
        })),
  },
  {
    rows: (after, limit) =>
      sql
        .rows<PackageRow>(
          `select ${columns} from key_package where ref > ? order by ref limit ?`,
          ...(after ?? noBytes),
          limit,
        )
        .map((row) => ({ key: [row.ref], record: { is: "keyPackage", keyPackage: packageOf(row) } })),
  },
  {
    rows: (after, limit) =>
      sql
        .rows<InitKeyRow>(
          "select * from init_key where init_key > ? order by init_key limit ?",
          ...(after ?? noBytes),
          limit,
        )
        .map(({ init_key: initKey, package_hash: packageHash }) => ({
          key: [initKey],
          record: { is: "initKey", deviceId, initKey, packageHash },
        })),
  },
]

export const conversationalParts = (sql: Sql, deviceId: DeviceId): readonly Part[] => [
  {
    rows: (after, limit) =>
      sql
        .rows<GroupKeyRow>("select * from group_key where key > ? order by key limit ?", ...(after ?? noBytes), limit)
        .map((row) => ({
          key: [row.key],
          record: {
            is: "groupKey",
            deviceId,
            key: row.key,
            requestHash: row.request_hash,
            conversationId: row.conversation_id,
          },
        })),
  },
  {
    rows: (after, limit) =>
      sql
        .rows<WelcomeRow>("select * from welcome where id > ? order by id limit ?", ...(after ?? noText), limit)
        .map((row) => ({
          key: [row.id],
          record: {
            is: "welcome",
            welcome: {
              ...fromText<Omit<WelcomeRecord, "status" | "welcome" | "consumedWithKey">>(row.rest),
              status: row.status,
              welcome: row.welcome,
              consumedWithKey: row.consumed_with_key,
            },
          },
        })),
  },
  {
    // An unfinished claim returned no packages: the packages that it took are spent.
    rows: (after, limit) =>
      sql
        .rows<ClaimRow>(
          "select * from claim where id > ? and is_finished = 1 order by id limit ?",
          ...(after ?? noText),
          limit,
        )
        .map((row) => ({
          key: [row.id],
          record: {
            is: "claim",
            claim: {
              id: row.id,
              requesterDeviceId: deviceId,
              conversationId: row.conversation_id,
              requestHash: row.request_hash,
              withoutDeviceIds: fromText(row.without_device_ids),
              claimedAtMs: row.claimed_at,
            },
            packages: sql
              .rows<{ device_id: DeviceId; ref: Uint8Array }>(
                "select device_id, ref from claim_package where claim_id = ? order by device_id",
                row.id,
              )
              .map((given) => ({ deviceId: given.device_id, ref: given.ref })),
          },
        })),
  },
]

export const attachmentIds = (sql: Sql, after: AttachmentId | null, limit: number): readonly AttachmentId[] =>
  sql
    .rows<{ attachment_id: AttachmentId }>(
      "select attachment_id from attachment_key where attachment_id > ? order by attachment_id limit ?",
      after ?? "",
      limit,
    )
    .map((row) => row.attachment_id)

export function findPackage(sql: Sql, ref: Uint8Array): KeyPackageRecord | undefined {
  const row = sql.row<PackageRow>(`select ${columns} from key_package where ref = ?`, ref)
  return row && packageOf(row)
}

export type DeviceRecord = Extract<
  StoredRecord,
  { readonly is: "proofNonce" | "keyPackage" | "initKey" | "groupKey" | "welcome" }
>

/** A claim with its packages, which this object stores beside it. */
export interface ClaimGiven {
  readonly is: "claimGiven"
  readonly claim: Extract<StoredRecord, { readonly is: "claim" }>["claim"]
  readonly packages: readonly KeyPackageRecord[]
}

/** Requires a transaction. Existing rows stay unchanged. */
export function importDevice(sql: Sql, record: DeviceRecord | ClaimGiven) {
  switch (record.is) {
    case "proofNonce":
      return sql.run("insert or ignore into nonce (nonce, expires_at) values (?, ?)", record.nonce, record.expiresAtMs)
    case "keyPackage":
      return sql.run(
        `insert or ignore into key_package (${columns}) values (${marks(packageColumns)})`,
        ...packageValues(record.keyPackage),
      )
    case "initKey":
      return sql.run(
        "insert or ignore into init_key (init_key, package_hash) values (?, ?)",
        record.initKey,
        record.packageHash,
      )
    case "groupKey":
      return sql.run(
        "insert or ignore into group_key (key, request_hash, conversation_id) values (?, ?, ?)",
        record.key,
        record.requestHash,
        record.conversationId,
      )
    case "welcome": {
      const { welcome, status, consumedWithKey, ...rest } = record.welcome
      return sql.run(
        `insert or ignore into welcome
          (id, conversation_id, commit_seq, status, created_at, expires_at, size, welcome, consumed_with_key, rest)
        values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        rest.id,
        rest.conversationId,
        rest.commitSeq,
        status,
        rest.createdAtMs,
        rest.expiresAtMs,
        welcome.length + rest.receipt.length + rest.proof.length,
        welcome,
        consumedWithKey,
        toText(rest),
      )
    }
    case "claimGiven": {
      const { claim, packages } = record
      const deviceIds = [...packages.map(({ deviceId }) => deviceId), ...claim.withoutDeviceIds].toSorted()
      sql.run(
        `insert or ignore into claim
          (id, conversation_id, request_hash, device_ids, is_finished, without_device_ids, claimed_at)
        values (?, ?, ?, ?, 1, ?, ?)`,
        claim.id,
        claim.conversationId,
        claim.requestHash,
        toText(deviceIds),
        toText(claim.withoutDeviceIds),
        claim.claimedAtMs,
      )
      for (const one of packages) {
        sql.run(
          `insert or ignore into claim_package (claim_id, ${columns}) values (?, ${marks(packageColumns)})`,
          claim.id,
          ...packageValues(one),
        )
      }
    }
  }
}
