// The statement of where a release comes from: in-toto 1.0 with the predicate of SLSA provenance 1.0.
import { version } from "../packages/plan.ts"
import type { Source } from "./commits.ts"
import type { LockedPackage } from "./debian.ts"
import type { NodeBinary } from "./node-binary.ts"

interface Materials {
  readonly source: Source
  readonly lockDigest: string
  readonly debs: readonly LockedPackage[]
  readonly nodes: Iterable<NodeBinary>
}

/**
 * @param artefacts SHA-256 of each, by file name.
 * @returns JSON with a line feed at the end. It names no machine and no time, so that another machine writes the same.
 */
export function writeProvenance(artefacts: ReadonlyMap<string, string>, materials: Materials): string {
  const { source, lockDigest, debs, nodes } = materials
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: [...artefacts].map(([name, sha256]) => ({ name, digest: { sha256 } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "https://signet.dev/release/v1",
        externalParameters: { version, command: "npm run release" },
        internalParameters: { node: process.version, modifiedFiles: source.isDirty },
        resolvedDependencies: [
          { name: "source", digest: { gitCommit: source.commit } },
          { name: "package-lock.json", digest: { sha256: lockDigest } },
          ...[...nodes].map(({ name, version, integrity }) => ({
            uri: `pkg:npm/${name}@${version}`,
            digest: { sha512: Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex") },
          })),
          ...debs.map(({ name, version, architecture, sha256 }) => ({
            uri: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`,
            digest: { sha256 },
          })),
        ],
      },
      runDetails: { builder: { id: "https://signet.dev/release/local/v1" } },
    },
  }
  return `${JSON.stringify(statement, null, 2)}\n`
}
