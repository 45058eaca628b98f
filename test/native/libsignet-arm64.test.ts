// libsignet for Linux on arm64: built by a cross compiler, and run by an emulator of the processor.
import { execFileSync } from "node:child_process"
import { mkdtempSync, statSync } from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { buildJni } from "../../clients/jvm/build.ts"
import { isNightly } from "../support/effort.ts"
import { exchangeMessages } from "../support/native/exchange.ts"
import { testHosts } from "../support/native/hosts-suite.ts"
import { testInterface } from "../support/native/interface-suite.ts"
import { arm64Emulator as emulator, whyNoArm64 } from "../support/native/library.ts"
import { openUnitLibrary, type UnitLibrary } from "../support/native/unit.ts"

const open = () => openUnitLibrary(undefined, { platform: "linux-arm64", emulator })
const why = isNightly ? whyNoArm64 : "libsignet is not built for arm64: npm run nightly"

describe.skipIf(why !== undefined)(why ?? "libsignet's interface on arm64", () => testInterface(open))
describe.skipIf(why !== undefined)(why ?? "libsignet's hosts on arm64", () => testHosts(open))

describe.skipIf(why !== undefined)(why ?? "libsignet on arm64", () => {
  let library: UnitLibrary
  beforeAll(async () => {
    library = await open()
  }, 1_800_000)
  afterEach(() => library?.endAll())
  afterAll(() => library?.close())

  test("is a library for arm64, and small", () => {
    const built = join(library.programs, "libsignet.so")
    expect(execFileSync("aarch64-linux-gnu-readelf", ["-h", built], { encoding: "utf8" })).toMatch(/Machine: +AArch64/)
    const stripped = join(library.folder, "stripped.so")
    execFileSync("aarch64-linux-gnu-strip", ["-o", stripped, built])
    expect(statSync(stripped).size).toBeLessThan(2_500_000)
  })

  test("is in the JVM's jar with a JNI library for arm64, and both need what the README lists", () => {
    const folder = mkdtempSync(join(library.folder, "jni-"))
    buildJni(library.programs, folder, "linux-arm64")
    const read = (option: string, name: string) =>
      execFileSync("aarch64-linux-gnu-readelf", ["-W", option, join(folder, name)], { encoding: "utf8" })
    const needed = (name: string) =>
      [...read("-d", name).matchAll(/\(NEEDED\).*\[(.+)\]/g)].map(([, needs]) => needs).sort()
    const exported = (name: string) =>
      [...read("--dyn-syms", name).matchAll(/ (?:GLOBAL|WEAK) +DEFAULT +\d+ (\S+)/g)].map(([, symbol]) => symbol).sort()
    for (const name of ["libsignet-jni.so", "libsignet.so.1"]) expect(read("-h", name)).toMatch(/Machine: +AArch64/)
    const calls = ["call", "close", "next", "open", "releaseBox"]
    expect(exported("libsignet-jni.so")).toEqual(calls.map((call) => `Java_dev_signet_client_Native_${call}`))
    expect(read("-d", "libsignet-jni.so")).toMatch(/RUNPATH.*\[\$ORIGIN\]/)
    expect(needed("libsignet-jni.so")).toEqual(["libc.so.6", "libsignet.so.1"])
    expect(needed("libsignet.so.1")).toEqual([
      ...["ld-linux-aarch64.so.1", "libargon2.so.1", "libc.so.6", "libcrypto.so.3", "libcurl.so.4", "libgcc_s.so.1"],
      ...["libm.so.6", "libsqlite3.so.0", "libssl.so.3", "libstdc++.so.6"],
    ])
  }, 120_000)

  test("signs in, and exchanges messages with a Node client", () => exchangeMessages(library), 900_000)
})
