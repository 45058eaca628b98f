// Members that cannot apply a commit report it. The server cannot verify the report: it quarantines the conversation,
// and the devices rejoin.
import type { DeviceId, PrincipalId } from "../ids.ts"
import type { ForkReport, Leaf } from "./records.ts"
import { leafOf } from "./roster.ts"

/**
 * True if reports about one epoch suffice for a quarantine. They must come from half as many users as there are devices
 * online, or from every online user, or from one user and an operator.
 */
export function isFork(
  reports: readonly Pick<ForkReport, "userId" | "epoch">[],
  epoch: bigint,
  online: readonly { readonly deviceId: DeviceId; readonly userId: PrincipalId }[],
  isConfirmedByOperator = false,
): boolean {
  const reporters = new Set(reports.filter((report) => report.epoch === epoch).map(({ userId }) => userId))
  if (reporters.size === 0) return false
  const users = new Set(online.map(({ userId }) => userId)).size
  const needed = Math.max(1, Math.min(Math.ceil(online.length / 2), users))
  return isConfirmedByOperator || reporters.size >= needed
}

/** Adds a report. A device counts once per sequence number. */
export function withReport(reports: readonly ForkReport[], report: ForkReport): readonly ForkReport[] {
  const isThere = reports.some(({ deviceId, seq }) => deviceId === report.deviceId && seq === report.seq)
  return isThere ? reports : [...reports, report]
}

/** Reports that are still open: their devices have not rejoined since. Without open reports the quarantine ends. */
export function openReports(reports: readonly ForkReport[], roster: readonly Leaf[]): readonly ForkReport[] {
  return reports.filter(({ deviceId, epoch }) => {
    const leaf = leafOf(roster, deviceId)
    return leaf !== undefined && leaf.joinedEpoch <= epoch + 1n
  })
}
