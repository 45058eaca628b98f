// Members that cannot follow a commit say so. The service cannot see who is right: it stops, and lets them rejoin.
import type { DeviceId, PrincipalId } from "../ids.ts"
import type { ForkReport, Leaf } from "./records.ts"
import { leafOf } from "./roster.ts"

/**
 * Whether reports of one epoch suffice: they come from at least half as many users as devices are online, or from every
 * user that is, or from any one user and an operator.
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

/** A device counts once per place in the log. */
export function withReport(reports: readonly ForkReport[], report: ForkReport): readonly ForkReport[] {
  const isThere = reports.some(({ deviceId, seq }) => deviceId === report.deviceId && seq === report.seq)
  return isThere ? reports : [...reports, report]
}

/** Reports that still count: of devices that have not rejoined since. When none is left, the quarantine ends. */
export function openReports(reports: readonly ForkReport[], roster: readonly Leaf[]): readonly ForkReport[] {
  return reports.filter(({ deviceId, epoch }) => {
    const leaf = leafOf(roster, deviceId)
    return leaf !== undefined && leaf.joinedEpoch <= epoch + 1n
  })
}
