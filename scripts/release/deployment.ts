// The files of deploy/ that a release contains: the chart as Helm packs it, and single files as they are.
import { readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { root, version } from "../packages/plan.ts"
import { folderEntries } from "./production.ts"
import { writeTarGz } from "./tar.ts"

const single = [
  "deploy/compose.yaml",
  "deploy/systemd/signet.service",
  "deploy/monitoring/alerts.yaml",
  "deploy/monitoring/dashboard.json",
]

/** @returns The content of each file, by name. */
export function deploymentFiles(seconds: number): ReadonlyMap<string, Uint8Array> {
  const chart = folderEntries(join(root, "deploy/chart"), "signet")
  return new Map<string, Uint8Array>([
    [`signet-chart-${version}.tgz`, writeTarGz(chart, seconds)],
    ...single.map((file): [string, Uint8Array] => [basename(file), readFileSync(join(root, file))]),
  ])
}
