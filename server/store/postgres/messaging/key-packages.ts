import { createHash } from "node:crypto"
import type { DeviceId } from "@signet/kernel/ids"
import { equalBytes, hex } from "@signet/kernel/messaging/bytes"
import { type Inventory, uploadFault } from "@signet/kernel/messaging/key-package"
import type { KeyPackages } from "@signet/kernel/messaging/ports"
import type { KeyPackageRecord } from "@signet/kernel/messaging/records"
import { at, type Database, run } from "../sql.ts"
import { type Access, buffers, isTaken } from "./access.ts"
import { claimPackages } from "./claims.ts"
import { type CountRow, claimableAt, inventoryOfRow, inventoryText } from "./key-package-rows.ts"
import { lockGate } from "./moving/gates.ts"

// Serializes the uploads of one device.
const lockText = "select 1 from messaging_device where id = $1 for no key update"
const knownText = `select init_key, package_hash from key_package_init_key
where device_id = $1 and init_key = any($2::bytea[])`
const insertInitKeysText = `insert into key_package_init_key (init_key, device_id, package_hash)
select init_key, $1::text, package_hash from unnest($2::bytea[], $3::bytea[]) as new (init_key, package_hash)
on conflict do nothing returning init_key`
const retireLastResortText = `update key_package set status = 'RETIRED'
where device_id = $1 and status = 'AVAILABLE' and is_last_resort`
const retireText = `update key_package set status = 'RETIRED'
where device_id = $1 and status = 'AVAILABLE' and ref = any($2::bytea[])`
const retireAllText = "update key_package set status = 'RETIRED' where device_id = $1 and status = 'AVAILABLE'"

const insertText = `insert into key_package
  (device_id, user_id, status, ref, init_key, credential_hash, package, is_last_resort, not_before, not_after)
select $1::text, $2::text, 'AVAILABLE', new.* from unnest(
  $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::boolean[], $8::timestamptz[], $9::timestamptz[]) as new`

export function keyPackages(access: Access): KeyPackages {
  const { ask, transact } = access
  return {
    async upload(packages, nowMs) {
      const [first] = packages
      if (first === undefined) throw new Error("an upload has a package")
      type Outcome = Awaited<ReturnType<KeyPackages["upload"]>>
      try {
        return await transact<Outcome>(async (trx, _, undo) => {
          await lockGate(trx, "device", first.deviceId)
          await run(trx, lockText, [first.deviceId])
          const fresh = await notKnown(trx, packages)
          if (fresh === "duplicate") return { is: "duplicate" }
          const inventory = await inventoryIn(trx, first.deviceId, nowMs)
          if (fresh.length === 0) return { is: "done", inventory }
          if (uploadFault(inventory.available, fresh) !== undefined) return { is: "full", inventory }
          if (!(await insert(trx, fresh))) return undo({ is: "duplicate" })
          return { is: "done", inventory: await inventoryIn(trx, first.deviceId, nowMs) }
        })
      } catch (error) {
        // The package exists under another init key, which an honest client's hash never does.
        if (isTaken(error)) return { is: "duplicate" }
        throw error
      }
    },

    claim: claimPackages(access),

    async inventory(deviceId, nowMs) {
      return inventoryOfRow((await ask<CountRow>(inventoryText, [deviceId, ...claimableAt(nowMs)]))[0])
    },

    retire: (deviceId, refs) =>
      transact(async (trx) => {
        await lockGate(trx, "device", deviceId)
        if (refs === "all") await run(trx, retireAllText, [deviceId])
        else await run(trx, retireText, [deviceId, buffers(refs)])
      }),
  }
}

async function inventoryIn(trx: Database, deviceId: DeviceId, nowMs: number): Promise<Inventory> {
  return inventoryOfRow((await run<CountRow>(trx, inventoryText, [deviceId, ...claimableAt(nowMs)]))[0])
}

const hashOf = (one: KeyPackageRecord): Buffer => createHash("sha256").update(one.bytes).digest()

/** The packages that were never uploaded; "duplicate" if an init key was uploaded with another package. */
async function notKnown(
  trx: Database,
  packages: readonly KeyPackageRecord[],
): Promise<readonly KeyPackageRecord[] | "duplicate"> {
  const rows = await run<{ init_key: Uint8Array; package_hash: Uint8Array }>(trx, knownText, [
    packages[0]?.deviceId,
    buffers(packages.map(({ initKey }) => initKey)),
  ])
  const known = new Map(rows.map((row) => [hex(row.init_key), row]))
  const isOther = packages.some((one) => {
    const row = known.get(hex(one.initKey))
    return row !== undefined && !equalBytes(row.package_hash, hashOf(one))
  })
  const distinct = new Set(packages.map(({ initKey }) => hex(initKey)))
  if (isOther || distinct.size < packages.length) return "duplicate"
  return packages.filter(({ initKey }) => !known.has(hex(initKey)))
}

/** @returns False when a concurrent upload inserted one of the init keys. */
async function insert(trx: Database, fresh: readonly KeyPackageRecord[]): Promise<boolean> {
  const deviceId = fresh[0]?.deviceId
  const initKeys = buffers(fresh.map(({ initKey }) => initKey))
  const taken = await run(trx, insertInitKeysText, [deviceId, initKeys, fresh.map(hashOf)])
  if (taken.length < fresh.length) return false
  if (fresh.some(({ isLastResort }) => isLastResort)) await run(trx, retireLastResortText, [deviceId])
  await run(trx, insertText, [
    deviceId,
    fresh[0]?.userId,
    buffers(fresh.map(({ ref }) => ref)),
    initKeys,
    buffers(fresh.map(({ credentialHash }) => credentialHash)),
    buffers(fresh.map((one) => one.bytes)),
    fresh.map(({ isLastResort }) => isLastResort),
    fresh.map(({ notBeforeMs }) => at(notBeforeMs)),
    fresh.map(({ notAfterMs }) => at(notAfterMs)),
  ])
  return true
}
