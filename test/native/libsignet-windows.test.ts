// libsignet for Windows on x64: built by mingw, and run by Wine.
import { execFileSync, spawnSync } from "node:child_process"
import { statSync } from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { readAbi } from "../../clients/native/c/abi.ts"
import { isNightly } from "../support/effort.ts"
import { exchangeMessages } from "../support/native/exchange.ts"
import { testHosts } from "../support/native/hosts-suite.ts"
import { testInterface } from "../support/native/interface-suite.ts"
import { whyNoWindows, wine } from "../support/native/library.ts"
import { bytes, type Json, openUnitLibrary, outcome, primitive, type UnitLibrary } from "../support/native/unit.ts"

const open = () => openUnitLibrary(undefined, { platform: "windows-x64", emulator: wine })
const why = isNightly ? whyNoWindows : "libsignet is not built for Windows: npm run nightly"

describe.skipIf(why !== undefined)(why ?? "libsignet's interface on Windows", () => testInterface(open))
describe.skipIf(why !== undefined)(why ?? "libsignet's hosts on Windows", () => testHosts(open))

describe.skipIf(why !== undefined)(why ?? "libsignet on Windows", () => {
  let library: UnitLibrary
  beforeAll(async () => {
    library = await open()
  }, 1_800_000)
  afterEach(() => library?.endAll())
  afterAll(() => library?.close())

  test("is one DLL that exports the functions of signet.h, and needs those of Windows alone", () => {
    const stripped = join(library.folder, "signet.dll")
    execFileSync("x86_64-w64-mingw32-strip", ["-o", stripped, join(library.programs, "signet.dll")])
    const read = execFileSync("x86_64-w64-mingw32-objdump", ["-p", stripped], { encoding: "utf8", maxBuffer: 1 << 26 })
    const declared = readAbi().flatMap((line) => /\b(signet_\w+)\(/.exec(line)?.[1] ?? [])
    expect([...read.matchAll(/^\s+\[ *\d+\] (signet_\w+)$/gm)].map(([, name]) => name)).toEqual(declared.sort())
    const needed = [...read.matchAll(/DLL Name: (.+)/g)].map(([, name = ""]) => name.toLowerCase())
    expect(needed.sort()).toEqual(
      ["advapi32", "bcrypt", "crypt32", "kernel32", "msvcrt", "winhttp"].map((name) => `${name}.dll`),
    )
    expect(read).toMatch(/HIGH_ENTROPY_VA\s+DYNAMIC_BASE\s+NX_COMPAT/)
    expect(statSync(stripped).size).toBeLessThan(4_200_000)
  })

  test("is installed as the README says, and a program of mingw is linked with it", () => {
    const prefix = join(library.folder, "prefix")
    execFileSync("cmake", ["--install", library.programs, "--prefix", prefix, "--strip"], { stdio: "ignore" })
    const program = join(prefix, "bin/chat.exe")
    const linked = ["-I", join(prefix, "include"), join(prefix, "lib/libsignet.dll.a"), "-Wl,--stack,8388608"]
    const source = join(import.meta.dirname, "../../clients/native/c/examples/chat.c")
    execFileSync("x86_64-w64-mingw32-gcc-posix", ["-Wall", "-Werror", source, ...linked, "-o", program])
    expect(spawnSync("wine", [program], { env: { ...process.env, ...wine.env } }).status).toBe(2)
  })

  test("seals with keys that Windows protects, for one scope", async () => {
    const options = { dataFolder: library.newFolder(), box: { case: "dpapi" as const, value: {} } }
    const hold = async (user: string, create: boolean) => {
      const driver = await library.open(options)
      const done = await outcome(driver, { case: "boxHold", value: { scope: { app: "app_1", user }, create } })
      return { driver, held: done.case === "boxHold" ? done.value.box : done.value }
    }
    const first = await hold("prn_1", true)
    expect(first.held).toBe(1)
    const sealed = (await primitive(first.driver, 14, 1, "purpose", bytes("0102"))) as Json
    await first.driver.close()
    const again = await hold("prn_1", false)
    expect(again.held).toBe(1)
    expect(await primitive(again.driver, 15, 1, "purpose", sealed)).toEqual(bytes("0102"))
    await again.driver.close()
    expect((await hold("prn_2", false)).held).toMatchObject({ kind: 4, box: 6 })
    const passphrase = await library.open({ dataFolder: options.dataFolder })
    const refused = await outcome(passphrase, { case: "boxHold", value: { scope: { app: "app_1" }, create: true } })
    expect(refused).toMatchObject({ value: { kind: 4, box: 8 } })
  })

  test("signs in, and exchanges messages with a Node client", () => exchangeMessages(library), 300_000)
})
