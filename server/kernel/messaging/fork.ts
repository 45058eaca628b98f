// Members that cannot apply a commit report it. The server cannot verify the report: it quarantines the conversation,
// and the devices rejoin.
import type { DeviceId, PrincipalId } from "../ids.ts"
import type { ForkReport, Leaf } from "./records.ts"
import { leafOf } from "./roster.ts"

/**
 * True if reports about one epoch suffice for a quarantine. Their users must number at least half of the online devices,
 * or as many as the online users, whichever is lower.
 */
export function isFork(
  reports: readonly Pick<ForkReport, "userId" | "epoch">[],
  epoch: bigint,
  online: readonly { readonly deviceId: DeviceId; readonly userId: PrincipalId }[],
): boolean {
  const reporters = new Set(reports.filter((report) => report.epoch === epoch).map(({ userId }) => userId))
  if (reporters.size === 0) return false
  const users = new Set(online.map(({ userId }) => userId)).size
  const needed = Math.max(1, Math.min(Math.ceil(online.length / 2), users))
  return reporters.size >= needed
}

/** Adds a report. A device counts once per sequence number. */
export function withReport(reports: readonly ForkReport[], report: ForkReport): readonly ForkReport[] {
  const isThere = reports.some(({ deviceId, seq }) => deviceId === report.deviceId && seq === report.seq)
  return isThere ? reports : [...reports, report]
}

/**
 * Returns the reports whose devices are still members and have not rejoined. Without open reports the quarantine ends.
 *
 * The reported commit began epoch + 1, so a device that joined later has joined again.
 */
export function openReports(reports: readonly ForkReport[], roster: readonly Leaf[]): readonly ForkReport[] {
  return reports.filter(({ deviceId, epoch }) => {
    const leaf = leafOf(roster, deviceId)
    return leaf !== undefined && leaf.joinedEpoch <= epoch + 1n
  })
}
