// The release as an operator gets it: two runs write the same bytes, and the server runs from the image's files, without
// anything of this machine, on an empty PostgreSQL.
import { execFileSync, spawn } from "node:child_process"
import { createHash, generateKeyPairSync } from "node:crypto"
import { once } from "node:events"
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { version } from "../../scripts/packages/plan.ts"
import { type Architecture, downloadBase, offeredBase, readLock } from "../../scripts/release/debian.ts"
import { buildRelease, releaseCache } from "../../scripts/release.ts"
import { effort, isLong, isNightly } from "../support/effort.ts"
import { freePort } from "../support/free-port.ts"
import { createTestDatabase, noPostgres, type TestDatabase } from "../support/postgres.ts"
import { type Unpacked, unpackImage } from "./unpacked.ts"
import { verifyRelease } from "./verification.ts"

const own: Architecture = process.arch === "arm64" ? "arm64" : "amd64"
const architectures = effort<readonly Architecture[]>([], [own], ["amd64", "arm64"])
const key = Buffer.alloc(32, 7).toString("base64")

const isRoot = process.getuid?.() === 0
const missing = [
  ...(process.platform === "linux" && isRoot ? [] : ["root on Linux"]),
  ...(existsSync("/usr/bin/skopeo") ? [] : ["skopeo"]),
  ...(existsSync("/usr/bin/apt-get") && existsSync("/usr/bin/dpkg-deb") ? [] : ["apt"]),
  ...(noPostgres === undefined ? [] : [noPostgres]),
]

/** The locked packages, or what Debian has replaced them with: a release then fails, and these tests still run. */
function baseForTests() {
  const wanted = readLock().filter(({ architecture }) => architectures.includes(architecture))
  try {
    downloadBase(wanted, releaseCache)
    return wanted
  } catch {
    return offeredBase(releaseCache)
  }
}

const skipped = isLong ? missing.join(", ") : "npm run test:long builds it"

describe.skipIf(skipped !== "")(`a release${skipped && ` (skipped: ${skipped})`}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-release-"))
  let image: Unpacked
  let database: TestDatabase
  let written: ReadonlyMap<string, string>
  const keyFile = join(folder, "release-key.pem")

  beforeAll(async () => {
    database = await createTestDatabase({ migrated: false })
    writeFileSync(keyFile, generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }))
    written = await buildRelease({ into: join(folder, "first"), architectures, base: baseForTests(), keyFile })
    const unpacked = mkdtempSync(join(folder, "unpacked-"))
    image = unpackImage(join(folder, "first", `signet-server-${version}.oci.tar`), unpacked, own)
  }, 900_000)
  afterAll(async () => {
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  test.runIf(isNightly)(
    "has the same bytes in a second run",
    async () => {
      const second = await buildRelease({ into: join(folder, "second"), architectures, base: baseForTests(), keyFile })
      expect([...second]).toEqual([...written])
      expect(second.size).toBeGreaterThan(20)
    },
    300_000,
  )

  test("lists each file with its digest, and the inputs of the image in the bill of materials", () => {
    const check = execFileSync("sha256sum", ["-c", "SHA256SUMS"], { cwd: join(folder, "first"), encoding: "utf8" })
    expect(
      check
        .trim()
        .split("\n")
        .filter((line) => !line.endsWith(": OK")),
    ).toEqual([])
    const bill = JSON.parse(readFileSync(join(folder, "first", `signet-server-${version}-${own}.cdx.json`), "utf8"))
    const names = bill.components.map(({ name }: { name: string }) => name)
    expect(names).toEqual(
      expect.arrayContaining(["node", "libc6", "libstdc++6", "pg", "fastify", "/usr/local/bin/node"]),
    )
  })

  test("signs the digests with the key of a file, and refuses digests that were changed", () => {
    const first = join(folder, "first")
    const provenance = JSON.parse(readFileSync(join(first, "provenance.json"), "utf8"))
    const [source] = provenance.predicate.buildDefinition.resolvedDependencies
    expect(verifyRelease(first)).toBe(`signet ${version} ${source.digest.gitCommit}`)
    const changed = mkdtempSync(join(folder, "changed-"))
    for (const name of ["SHA256SUMS.minisig", "signet.pub"]) copyFileSync(join(first, name), join(changed, name))
    const sums = readFileSync(join(first, "SHA256SUMS"), "utf8")
    writeFileSync(join(changed, "SHA256SUMS"), sums.replace(/^[0-9a-f]{8}/, "00000000"))
    expect(() => verifyRelease(changed)).toThrow("Signature verification failed")
    // Nothing but the signature and its key is outside of the signed digests.
    const covered = sums
      .trim()
      .split("\n")
      .map((line) => line.slice(66))
    expect(
      readdirSync(first)
        .toSorted()
        .filter((name) => !covered.includes(name)),
    ).toEqual(["SHA256SUMS", "SHA256SUMS.minisig", "signet.pub"])
  })

  test("names every archive with the digest of its bytes in the provenance", () => {
    const first = join(folder, "first")
    const { subject } = JSON.parse(readFileSync(join(first, "provenance.json"), "utf8"))
    const archives = readdirSync(first).filter((name) => /\.(tgz|tar|tar\.gz)$/.test(name))
    expect(archives.length).toBeGreaterThan(10)
    for (const name of archives) {
      const sha256 = createHash("sha256")
        .update(readFileSync(join(first, name)))
        .digest("hex")
      expect(subject, name).toContainEqual({ name, digest: { sha256 } })
    }
  })

  test("has an image of less than 150 MB, without a shell and without programs that change the user", () => {
    expect(image.compressedBytes).toBeLessThan(150_000_000)
    const found = readdirSync(image.root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    const system = found
      .map((entry) => join(entry.parentPath, entry.name).slice(image.root.length))
      .filter((path) => !path.startsWith("/app/"))
    expect(system.filter((path) => !/^\/(lib|lib64|etc|usr\/share\/doc)\//.test(path))).toEqual(["/usr/local/bin/node"])
    expect(execFileSync("find", [image.root, "-perm", "/6000"], { encoding: "utf8" })).toBe("")
  })

  test("is an OCI layout that skopeo reads: each layer has its digest, and the settings are those of the image", () => {
    const layout = `oci-archive:${join(folder, "first", `signet-server-${version}.oci.tar`)}`
    const skopeo = (...args: string[]) => execFileSync("skopeo", ["--insecure-policy", ...args], { encoding: "utf8" })
    // The copy verifies every digest of both architectures.
    skopeo("copy", "--all", "--quiet", layout, `oci:${join(folder, "copy")}:${version}`)
    for (const architecture of architectures) {
      const about = JSON.parse(skopeo("--override-arch", architecture, "inspect", layout))
      expect(about).toMatchObject({ Architecture: architecture, Os: "linux" })
      expect(about.Labels["org.opencontainers.image.version"]).toBe(version)
      const config = JSON.parse(skopeo("--override-arch", architecture, "inspect", "--config", layout))
      expect(config.config).toMatchObject({ User: "65532:65532", Volumes: { "/var/lib/signet": {} } })
    }
  })

  test("runs as a user without rights, on a root that is read-only", async () => {
    const tries = `
      const { writeFileSync } = require("node:fs")
      for (const path of ["/app/x", "/x", "/tmp/x", "/var/lib/signet/x"]) {
        try { writeFileSync(path, ""); console.log(path, "written") } catch ({ code }) { console.log(path, code) }
      }
      console.log(process.getuid(), process.getgid())`
    const { output } = await image.run(["/usr/local/bin/node", "-e", tries])
    expect(output).toMatch(
      /^\/app\/x (EROFS|EACCES)\n\/x (EROFS|EACCES)\n\/tmp\/x written\n\/var\/lib\/signet\/x written\n65532 65532\n$/,
    )
  })

  test("is healthy on an empty PostgreSQL, and runs README's first five minutes", async () => {
    const port = String(await freePort())
    const settings = {
      ...{ HOST: "127.0.0.1", PORT: port, ADMIN_PORT: "0", DATABASE_URL: database.url },
      ...{ SIGNET_PROFILE: "development", SIGNET_SEALING_KEY: key, SIGNET_PEPPERS: `1:${key}` },
    }
    expect((await image.run(image.healthCheck, settings)).code).toBe(1)
    const server = image.start(image.entryPoint, settings)
    try {
      await expect.poll(async () => (await image.run(image.healthCheck, settings)).code).toBe(0)
      expectFiveMinutes(port)
    } finally {
      const ended = once(server, "close")
      server.kill("SIGTERM")
      expect(await ended).toEqual([0, null])
    }
  })

  test("has an executable file that unpacks itself once, and that runs README's first five minutes", async () => {
    const archive = join(folder, "first", `signet-server-${version}-linux-${own}.tar.gz`)
    execFileSync("tar", ["-xzf", archive, "-C", folder])
    const port = String(await freePort())
    const fresh = await createTestDatabase({ migrated: false })
    const env = {
      ...{ PATH: "/usr/bin:/bin", SIGNET_CACHE: join(folder, "cache"), SIGNET_DATA: join(folder, "data") },
      ...{ PORT: port, ADMIN_PORT: "0", DATABASE_URL: fresh.url, SIGNET_PROFILE: "development" },
      ...{ SIGNET_SEALING_KEY: key, SIGNET_PEPPERS: `1:${key}` },
    }
    const program = join(folder, "signet-server")
    expect(execFileSync(program, ["--help"], { env, encoding: "utf8" })).toContain("signet-server health")
    const server = spawn(program, { env, stdio: "ignore" })
    try {
      await expect
        .poll(async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status)
        .toBe(200)
      expectFiveMinutes(port)
      expect(readdirSync(join(folder, "cache"))).toHaveLength(1)
    } finally {
      const ended = once(server, "close")
      server.kill("SIGTERM")
      expect(await ended).toEqual([0, null])
      await fresh.drop()
    }
  })

  /** Runs the first block of the section on another port, and expects the JSON of its three answers. */
  function expectFiveMinutes(port: string): void {
    const readme = readFileSync("README.md", "utf8")
    const [, block = ""] = /## The first five minutes\n[\s\S]*?```sh\n([\s\S]*?)```/.exec(readme) ?? []
    const script = block.replaceAll("127.0.0.1:8080", `127.0.0.1:${port}`)
    const output = execFileSync("bash", ["-euo", "pipefail", "-c", script], { cwd: folder, encoding: "utf8" })
    const answers = output.replaceAll("}{", "}\n{").trim().split("\n")
    const [first, second, third, ...others] = answers.map((line) => JSON.parse(line))
    expect(first).toMatchObject({ principal: { id: expect.stringMatching(/^prn_/) } })
    expect(second).toMatchObject({ principal: { id: first.principal.id } })
    expect(third).toMatchObject({ accessToken: expect.any(String), refreshToken: expect.any(String) })
    expect(others).toEqual([])
  }
})
