// npm run release: builds everything that a release consists of into dist/release, from one commit. It is dry: it
// publishes nothing and changes nothing outside of dist/. Two runs of one commit write the same bytes.
import { createHash } from "node:crypto"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { parseArgs } from "node:util"
import { gzipSync } from "node:zlib"
import { buildPackages, packPackages } from "./build-packages.ts"
import { type Manifest, root, version } from "./packages/plan.ts"
import { readSource, releaseNotes, type Source } from "./release/commits.ts"
import { type Architecture, downloadBase, type LockedPackage, lockBase, readLock } from "./release/debian.ts"
import { deploymentFiles } from "./release/deployment.ts"
import { buildBlob, injectBlob } from "./release/executable.ts"
import { buildImage } from "./release/image.ts"
import { fetchNode } from "./release/node-binary.ts"
import { productionModules } from "./release/production.ts"
import { writeProvenance } from "./release/provenance.ts"
import { imageComponents, moduleComponents, writeSbom } from "./release/sbom.ts"
import { publicKeyFile, readSigningKey, signFile } from "./release/signature.ts"
import { writeTar } from "./release/tar.ts"

interface ReleaseOptions {
  /** A folder for the release alone: its content is deleted. */
  readonly into: string
  readonly architectures: readonly Architecture[]
  /** PEM file with an Ed25519 key; without it the release is not signed. */
  readonly keyFile?: string | undefined
  /** The Debian packages; those of base.lock.json by default. */
  readonly base?: readonly LockedPackage[]
}

/** Downloads, by their digests. */
export const releaseCache = join(root, "node_modules/.cache/signet/release")

/** @returns SHA-256 of each file, by its name. */
export async function buildRelease(options: ReleaseOptions): Promise<ReadonlyMap<string, string>> {
  const { into, architectures, keyFile, base = readLock() } = options
  const source = readSource()
  const key = keyFile === undefined ? undefined : readSigningKey(keyFile)
  rmSync(into, { recursive: true, force: true })
  mkdirSync(into, { recursive: true })
  const written = new Map<string, string>()
  const write = (name: string, content: Uint8Array | string): void => {
    writeFileSync(join(into, name), content)
    written.set(name, createHash("sha256").update(content).digest("hex"))
  }

  const build = join(into, ".build")
  const folders = await buildPackages(build)
  for (const [name, tarball] of packPackages(folders, build)) {
    write(basename(tarball), readFileSync(tarball))
    const { dependencies = {} } = manifestOf(folders.get(name) ?? "")
    const outside = Object.keys(dependencies).filter((dependency) => !dependency.startsWith("@signet/"))
    const about = { type: "library", name, purl: `pkg:npm/${name.replace("@", "%40")}@${version}` } as const
    write(
      `${basename(tarball, ".tgz")}.cdx.json`,
      writeSbom(about, moduleComponents(productionModules(outside)), source.seconds),
    )
  }
  const materials = await writePrograms(join(build, "@signet/server"), source, { architectures, base }, write)
  for (const [name, content] of deploymentFiles(source.seconds)) write(name, content)
  write("RELEASE-NOTES.md", releaseNotes(version, readFileSync(join(root, "CHANGELOG.md"), "utf8")))
  rmSync(build, { recursive: true })

  const lockDigest = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex")
  write("provenance.json", writeProvenance(new Map(written), { source, lockDigest, ...materials }))
  const sums = [...written].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, digest]) => `${digest}  ${name}\n`)
  write("SHA256SUMS", sums.join(""))
  if (key !== undefined) {
    write("SHA256SUMS.minisig", signFile(key, Buffer.from(sums.join("")), `signet ${version} ${source.commit}`))
    write("signet.pub", publicKeyFile(key))
  }
  return written
}

const manifestOf = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))

/** The image, and the executable file of each architecture. */
async function writePrograms(
  server: string,
  { commit, seconds }: Source,
  { architectures, base }: Required<Pick<ReleaseOptions, "architectures" | "base">>,
  write: (name: string, content: Uint8Array | string) => void,
) {
  const locked = base.filter(({ architecture }) => architectures.includes(architecture))
  const debs = downloadBase(locked, releaseCache)
  const nodes = new Map(architectures.map((architecture) => [architecture, fetchNode(architecture, releaseCache)]))
  const { dependencies = {} } = manifestOf(server)
  const modules = productionModules(Object.keys(dependencies))
  const { files, contents } = await buildImage({ server, modules, nodes, debs, commit, seconds })
  write(`signet-server-${version}.oci.tar`, writeTar(files, seconds))
  for (const [architecture, { base, files }] of contents) {
    const node = nodes.get(architecture)
    if (node === undefined) continue
    const components = [...imageComponents(architecture, node, base, files), ...moduleComponents(modules)]
    const about = { type: "container", name: `signet-server (linux/${architecture})` } as const
    write(`signet-server-${version}-${architecture}.cdx.json`, writeSbom(about, components, seconds))
  }
  const blob = buildBlob(server, modules, seconds)
  for (const [architecture, { program }] of nodes) {
    const entry = { path: "signet-server", mode: 0o755, content: injectBlob(program, blob) }
    write(`signet-server-${version}-linux-${architecture}.tar.gz`, gzipSync(writeTar([entry], seconds)))
  }
  return { debs: locked, nodes: nodes.values() }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { key: { type: "string" }, into: { type: "string" }, "lock-base": { type: "boolean" } },
  })
  if (values["lock-base"]) {
    for (const { name, version, architecture } of lockBase(releaseCache))
      console.log(`${name} ${version} ${architecture}`)
  } else {
    const into = values.into ?? join(root, "dist/release")
    const written = await buildRelease({ into, architectures: ["amd64", "arm64"], keyFile: values.key })
    for (const [name, digest] of written) console.log(`${digest}  ${name}`)
    if (readSource().isDirty) console.error("Files differ from the commit: this is not the release of it.")
    if (values.key === undefined) console.error("Nothing is signed: name a key with --key FILE.")
  }
}
