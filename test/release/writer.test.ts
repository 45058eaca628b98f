// The writers of a release: the same content has the same bytes, and the tools of others read them.
import { execFileSync } from "node:child_process"
import { createHash, generateKeyPairSync } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { afterAll, beforeAll, expect, test } from "vitest"
import { releaseNotes, writeNotes } from "../../scripts/release/commits.ts"
import { deploymentFiles } from "../../scripts/release/deployment.ts"
import { readNeeds } from "../../scripts/release/elf.ts"
import { type LayoutFile, writeLayout } from "../../scripts/release/oci.ts"
import { productionModules } from "../../scripts/release/production.ts"
import { moduleComponents, writeSbom } from "../../scripts/release/sbom.ts"
import { publicKeyFile, readSigningKey, signFile } from "../../scripts/release/signature.ts"
import { type Entry, writeTar } from "../../scripts/release/tar.ts"
import { hasMinisign, verifyByFormat } from "./verification.ts"

let folder = ""
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "signet-writer-"))
})
afterAll(() => rmSync(folder, { recursive: true }))

const deep = `${"folder/".repeat(20)}file`
const tree: readonly Entry[] = [
  { path: "bin/program", mode: 0o755, content: Buffer.from("#!") },
  { path: deep, content: Buffer.alloc(1_000, 7) },
  { path: "data/", mode: 0o700, owner: 65532 },
  { path: "bin/link", link: "program" },
]

test("an archive depends on its entries alone, not on their order", () => {
  expect(writeTar(tree.toReversed(), 1_000)).toEqual(writeTar(tree, 1_000))
  expect(writeTar(tree, 1_001)).not.toEqual(writeTar(tree, 1_000))
})

test("tar reads an archive: modes, owners, links and long paths", () => {
  const file = join(folder, "tree.tar")
  writeFileSync(file, writeTar(tree, 1_000))
  const listed = execFileSync("tar", ["--numeric-owner", "--utc", "-tvf", file], { encoding: "utf8" })
  const rows = listed
    .trim()
    .split("\n")
    .map((row) => row.replaceAll(/ +/g, " "))
  expect(rows).toContain("drwx------ 65532/65532 0 1970-01-01 00:16 data/")
  expect(rows).toContain("-rwxr-xr-x 0/0 2 1970-01-01 00:16 bin/program")
  expect(rows).toContain("lrwxrwxrwx 0/0 0 1970-01-01 00:16 bin/link -> program")
  expect(rows).toContain(`-rw-r--r-- 0/0 1000 1970-01-01 00:16 ${deep}`)
  expect(rows.indexOf("drwxr-xr-x 0/0 0 1970-01-01 00:16 bin/")).toBe(0)
})

test("an archive refuses a path that its header cannot hold, and two entries of one path", () => {
  expect(() => writeTar([{ path: "x".repeat(101) }], 0)).toThrow("does not fit")
  expect(() => writeTar([...tree, ...tree], 0)).toThrow("two entries are named bin/program")
})

test("an image layout has each blob once, under its digest, and one manifest for each platform", async () => {
  const shared = { title: "shared", entries: tree }
  const images = (["amd64", "arm64"] as const).map((architecture) => ({
    platform: { architecture, os: "linux" as const },
    layers: [{ title: "own", entries: [{ path: "machine", content: Buffer.from(architecture) }] }, shared],
    config: { User: "65532:65532" },
  }))
  const labels = { name: "small", version: "1.2.3", seconds: 1_000, annotations: { note: "a test" } }
  const files = await writeLayout(images, labels)
  expect(await writeLayout(images, labels)).toEqual(files)
  // Three layers, two configurations, two manifests, one index.
  expect(files.filter(({ path }) => path.startsWith("blobs/"))).toHaveLength(8)
  for (const { path, content } of files.filter(({ path }) => path.startsWith("blobs/"))) {
    expect(path).toBe(`blobs/sha256/${createHash("sha256").update(content).digest("hex")}`)
  }
  expect(platformsOf(files)).toEqual([
    { architecture: "amd64", created: "1970-01-01T00:16:40.000Z", user: "65532:65532", layersMatch: true },
    { architecture: "arm64", created: "1970-01-01T00:16:40.000Z", user: "65532:65532", layersMatch: true },
  ])
})

/** Follows the descriptors from index.json, and compares each layer with its uncompressed digest. */
function platformsOf(files: readonly LayoutFile[]) {
  const content = (path: string) => files.find((file) => file.path === path)?.content ?? Buffer.alloc(0)
  const blob = (descriptor: { digest: string; size: number }) => {
    const found = content(`blobs/${descriptor.digest.replace(":", "/")}`)
    expect(found.length).toBe(descriptor.size)
    return found
  }
  const json = (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString())
  const [named] = json(content("index.json")).manifests
  expect(named.annotations["org.opencontainers.image.ref.name"]).toBe("1.2.3")
  return json(blob(named)).manifests.map((descriptor: { digest: string; size: number; platform: object }) => {
    const manifest = json(blob(descriptor))
    const { architecture, created, config, rootfs } = json(blob(manifest.config))
    const diffs = manifest.layers.map((layer: { digest: string; size: number }) => {
      const tar = gunzipSync(blob(layer))
      return `sha256:${createHash("sha256").update(tar).digest("hex")}`
    })
    const layersMatch = JSON.stringify(diffs) === JSON.stringify(rootfs.diff_ids)
    return { architecture, created, user: config.User, layersMatch }
  })
}

test.runIf(process.platform === "linux")("the needs of a program are read without running it", () => {
  const { libraries, interpreter } = readNeeds(readFileSync(process.execPath))
  expect(libraries).toContain("libc.so.6")
  expect(libraries).toContain("libstdc++.so.6")
  expect(interpreter).toMatch(/^\/lib.*\/ld-linux/)
  expect(() => readNeeds(Buffer.from("#!/bin/sh"))).toThrow("not a 64-bit little-endian ELF file")
})

test("production modules are those that the lock file names, without the tools of development", () => {
  const modules = productionModules(["pg", "fastify"])
  const names = modules.map(({ name }) => name)
  expect(names).toContain("pg-protocol")
  expect(names).not.toContain("vitest")
  expect(modules.every(({ integrity, license }) => integrity.startsWith("sha512-") && license !== "NOASSERTION")).toBe(
    true,
  )
})

test("a bill of materials has a serial number that follows from its content", () => {
  const write = (names: string[]) =>
    JSON.parse(writeSbom({ type: "library", name: "x" }, moduleComponents(productionModules(names)), 1_000))
  expect(write(["pg"])).toEqual(write(["pg"]))
  expect(write(["pg"]).serialNumber).toMatch(
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/,
  )
  expect(write(["pg"]).serialNumber).not.toBe(write(["pino"]).serialNumber)
  expect(write(["pg"]).components[0]).toMatchObject({
    purl: "pkg:npm/pg@8.23.1",
    licenses: [{ license: { id: "MIT" } }],
  })
})

test.skipIf(!hasMinisign)("minisign verifies a signature, and refuses another content or comment", () => {
  const [content, signature, publicKey] = ["content", "content.minisig", "key.pub"].map((name) => join(folder, name))
  if (content === undefined || signature === undefined || publicKey === undefined) throw new Error("three paths")
  const pem = join(folder, "key.pem")
  writeFileSync(pem, generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }))
  const key = readSigningKey(pem)
  const verify = () =>
    execFileSync("minisign", ["-V", "-p", publicKey, "-m", content, "-x", signature], { stdio: "pipe" })
  writeFileSync(publicKey, publicKeyFile(key))
  writeFileSync(content, "released")
  writeFileSync(signature, signFile(key, Buffer.from("released"), "signet 1.2.3"))
  expect(verify().toString()).toContain("Signature and comment signature verified")
  writeFileSync(signature, signFile(key, Buffer.from("released"), "signet 1.2.3").replace("1.2.3", "1.2.4"))
  expect(verify).toThrow("Comment signature verification failed")
  writeFileSync(signature, signFile(key, Buffer.from("replaced"), "signet 1.2.3"))
  expect(verify).toThrow("Signature verification failed")
})

test("a signature verifies by the format's rules, and another content, comment or key is refused", () => {
  const pem = join(folder, "own.pem")
  const writeKey = () => {
    writeFileSync(pem, generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }))
    return readSigningKey(pem)
  }
  const [key, released] = [writeKey(), Buffer.from("released")]
  const [signature, publicKey] = [signFile(key, released, "signet 1.2.3"), publicKeyFile(key)]
  verifyByFormat(released, signature, publicKey)
  expect(() => verifyByFormat(Buffer.from("replaced"), signature, publicKey)).toThrow("Signature verification failed")
  expect(() => verifyByFormat(released, signature.replace("1.2.3", "1.2.4"), publicKey)).toThrow(
    "Comment signature verification failed",
  )
  expect(() => verifyByFormat(released, signature, publicKeyFile(writeKey()))).toThrow("of another key")
})

test("the notes of a release have its section of the changelog, and its commits by area", () => {
  const changelog =
    "# Changelog\n\n## 1.10.0\n\n- newer\n\n## 1.1.0 (2026-01-02)\n\n- this one\n\n## 1.0.0\n\n- older\n"
  const subjects = ["server/node: start", "store: read", "server: stop", "Merge nothing"]
  expect(writeNotes("1.1.0", changelog, { tag: "v1.0.0", subjects })).toBe(
    [
      ...["# Signet 1.1.0", "", "- this one", "", "## Commits since v1.0.0", ""],
      ...["### other", "", "- Merge nothing", "", "### server", "", "- server/node: start", "- server: stop", ""],
      ...["### store", "", "- store: read", "", ""],
    ].join("\n"),
  )
  const first = writeNotes("1.0.0", changelog, { tag: undefined, subjects })
  expect(first).toContain("- older\n\n## Commits since the beginning\n\n- other: 1 commits\n- server: 2 commits\n")
  expect(writeNotes("2.0.0", changelog, { tag: "v1.1.0", subjects: [] })).toContain(
    "CHANGELOG.md has no section of this version.",
  )
})

test("the notes of this repository's version are written from git and CHANGELOG.md", () => {
  const version = JSON.parse(readFileSync("package.json", "utf8")).version
  const notes = releaseNotes(version, readFileSync("CHANGELOG.md", "utf8"))
  expect(notes).toContain("`npm run release` builds the packages")
  expect(notes).toMatch(/^(- store: [1-9]\d* commits|### store)$/m)
})

test("a signing key of another kind is refused", () => {
  const pem = join(folder, "p256.pem")
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  writeFileSync(pem, privateKey.export({ type: "pkcs8", format: "pem" }))
  expect(() => readSigningKey(pem)).toThrow("has no Ed25519 key")
})

test("the chart and the image have one version", () => {
  const version = JSON.parse(readFileSync("package.json", "utf8")).version
  const chart = gunzipSync(deploymentFiles(1_000).get(`signet-chart-${version}.tgz`) ?? Buffer.alloc(0)).toString()
  expect(chart).toContain(`\nversion: ${version}\nappVersion: ${version}\n`)
  expect(readFileSync("deploy/compose.yaml", "utf8")).toContain(`signet-server:\${SIGNET_VERSION:-${version}}`)
})
