// Bills of materials in CycloneDX 1.6: one of each artefact, with the same bytes for the same content.
import { createHash } from "node:crypto"
import { version } from "../packages/plan.ts"
import { type Architecture, type BasePackage, licences } from "./debian.ts"
import type { NodeBinary } from "./node-binary.ts"
import type { LockedModule } from "./production.ts"
import type { Entry } from "./tar.ts"

interface Component {
  readonly type: "library" | "application" | "container" | "platform" | "file"
  readonly name: string
  readonly [field: string]: unknown
}

const hash = (alg: "SHA-256" | "SHA-512", content: string) => [{ alg, content }]

/** CycloneDX takes hex, and npm writes base64. */
const hashOf = (integrity: string) =>
  hash("SHA-512", Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex"))

const licenceOf = (license: string) =>
  /^[\w.+-]+$/.test(license) ? [{ license: { id: license } }] : [{ expression: license }]

export function moduleComponents(modules: readonly LockedModule[]): readonly Component[] {
  const unique = new Map(modules.map((one) => [`pkg:npm/${one.name.replace("@", "%40")}@${one.version}`, one]))
  return [...unique].map(([purl, { name, version, license, integrity }]) => ({
    ...{ type: "library", "bom-ref": purl, name, version, purl },
    ...{ licenses: licenceOf(license), hashes: hashOf(integrity) },
  }))
}

/** Node, the Debian packages, and every file that is not of an npm package. */
export function imageComponents(
  architecture: Architecture,
  node: NodeBinary,
  base: readonly BasePackage[],
  files: readonly Entry[],
): readonly Component[] {
  const runtime: Component = {
    ...{ type: "platform", name: "node", version: node.version, purl: `pkg:npm/${node.name}@${node.version}` },
    ...{ licenses: licenceOf("MIT"), hashes: hashOf(node.integrity) },
  }
  const packages = base.map(
    (one): Component => ({
      ...{ type: "library", name: one.name, version: one.version },
      purl: `pkg:deb/debian/${encodeURIComponent(one.name)}@${encodeURIComponent(one.version)}?arch=${architecture}`,
      licenses: licenceOf(licences[one.name] ?? "NOASSERTION"),
      hashes: hash("SHA-256", one.sha256),
      properties: one.files.map((value) => ({ name: "signet:file", value: `/${value}` })),
    }),
  )
  const own = files.filter(({ path, content }) => content !== undefined && !path.startsWith("app/"))
  const listed = own.map(({ path, content = new Uint8Array() }): Component => {
    const digest = createHash("sha256").update(content).digest("hex")
    return { type: "file", name: `/${path}`, hashes: hash("SHA-256", digest) }
  })
  return [runtime, ...packages, ...listed.sort((a, b) => (a.name < b.name ? -1 : 1))]
}

/**
 * @param seconds Unix time of the document.
 * @returns JSON with a line feed at the end.
 */
export function writeSbom(about: Component, components: readonly Component[], seconds: number): string {
  const content = {
    metadata: {
      timestamp: new Date(seconds * 1_000).toISOString(),
      component: { ...about, version, licenses: licenceOf("Apache-2.0") },
    },
    components,
  }
  // A serial number identifies a document: it follows from the content, where others draw it at random.
  const digest = createHash("sha256").update(JSON.stringify(content)).digest("hex")
  const serial = [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `a${digest.slice(17, 20)}`,
    digest.slice(20, 32),
  ]
  const document = {
    ...{ bomFormat: "CycloneDX", specVersion: "1.6", serialNumber: `urn:uuid:${serial.join("-")}`, version: 1 },
    ...content,
  }
  return `${JSON.stringify(document, null, 2)}\n`
}
