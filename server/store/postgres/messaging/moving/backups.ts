// The complete backups of a place's users. Other archives do not move: a transfer to a new device is requested again.
import type { PrincipalId } from "@signet/kernel/ids"
import { type Archive, completeBackup } from "@signet/kernel/messaging/archive"
import type { PlaceMoves, UserBackup } from "@signet/kernel/messaging/moving"
import type { Place } from "@signet/kernel/messaging/records"
import type { Database } from "../../sql.ts"
import { type Access, placeOf } from "../access.ts"
import { rewrite } from "../archives.ts"

const backupsAtOnce = 20

export interface BackupRow {
  user_id: PrincipalId
  archive: Archive
}
export const backupOf = ({ user_id, archive }: BackupRow): UserBackup => ({ userId: user_id, archive })

export const backupsFrom = "archive_list list cross join jsonb_array_elements(list.archives) archive"
export const isBackup = 'archive @> \'{"kind": "BACKUP", "status": "COMPLETE"}\''

const find = `select list.user_id, archive from ${backupsFrom}
where list.app_id = $1 and list.tenant_id = $2 and ${isBackup}`
const nextText = `${find} and ($3::text is null or list.user_id > $3::text) order by list.user_id limit $4`
const ofUsersText = `${find} and list.user_id = any($3::text[])`

export const listBackups = ({ ask }: Access): Pick<PlaceMoves, "backups" | "backupsOf"> => ({
  async backups(place, cursor) {
    const rows = await ask<BackupRow>(nextText, [...placeOf(place), cursor || null, backupsAtOnce])
    return { backups: rows.map(backupOf), next: rows.at(backupsAtOnce - 1)?.user_id ?? null }
  },
  backupsOf: async (place, userIds) => (await ask<BackupRow>(ofUsersText, [...placeOf(place), userIds])).map(backupOf),
})

/** Replaces a copy that an earlier move left, whose chunks may not be erased yet: the import stores them again. */
export async function importBackups(trx: Database, place: Place, all: readonly UserBackup[]): Promise<void> {
  for (const { userId, archive } of all) {
    await rewrite(trx, [...placeOf(place), userId], (before) =>
      completeBackup(before) === undefined ? [...before.filter(({ id }) => id !== archive.id), archive] : before,
    )
  }
}
