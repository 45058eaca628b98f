// libsignet for Linux on arm64: built by a cross compiler, and run by an emulator of the processor.
import { execFileSync } from "node:child_process"
import { mkdtempSync, statSync } from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { buildJni } from "../../clients/jvm/build.ts"
import { clientOf } from "../../clients/native/wasm/client.ts"
import { startDeployment } from "../support/edge-server.ts"
import { isNightly } from "../support/effort.ts"
import { messengersOn, textsIn } from "../support/messaging/messengers.ts"
import { optionsBytes, startDriver, status } from "../support/native/driver.ts"
import { arm64Emulator as emulator, whyNoArm64 } from "../support/native/library.ts"
import { primitiveVectors } from "../support/native/primitive-vectors.ts"
import { callCore, openUnitLibrary, outcome, primitive, type UnitLibrary, utf8 } from "../support/native/unit.ts"
import { storyStore } from "../support/postgres.ts"

const why = isNightly ? whyNoArm64 : "libsignet is not built for arm64: npm run nightly"

describe.skipIf(why !== undefined)(why ?? "libsignet on arm64", () => {
  let library: UnitLibrary
  beforeAll(async () => {
    library = await openUnitLibrary(undefined, { platform: "linux-arm64", emulator })
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

  test("rejects wrong uses with a status, from any thread", () => {
    const options = Buffer.from(optionsBytes(library.optionsFor())).toString("hex")
    const [command = "", ...args] = [...emulator, join(library.programs, "misuse"), options]
    expect(execFileSync(command, args, { encoding: "utf8" })).toBe("")
  }, 120_000)

  test("every primitive gives the answers of its RFC", async () => {
    const driver = await library.open()
    for (const [name, args, answer] of primitiveVectors) {
      expect([name, await primitive(driver, ...args)]).toEqual([name, answer])
    }
  }, 120_000)

  test("stops a core that recurses without end, and opens its folder again", async () => {
    const dataFolder = library.newFolder()
    const driver = await library.open({ dataFolder })
    await outcome(driver, { case: "storageWrite", value: { name: "n", bytes: utf8("kept") } })
    await expect(callCore(driver, "recurse", "1000000")).rejects.toMatchObject({ status: status.STOPPED })
    expect(await driver.close()).toBe(status.OK)
    const read = await outcome(await library.open({ dataFolder }), { case: "storageRead", value: { name: "n" } })
    expect(read).toMatchObject({ value: { bytes: utf8("kept") } })
  }, 120_000)

  test("signs in, and exchanges messages with a Node client", async () => {
    const server = await startDeployment({ store: storyStore })
    const messengers = messengersOn(server)
    const driver = startDriver(library.programs, "driver", undefined, emulator)
    try {
      const identity = {
        appId: server.app.id,
        authBaseUrl: server.url,
        providers: ["IDP_A"],
        audiences: [server.audience],
      }
      await driver.open({ ...library.optionsFor(), identity })
      const client = clientOf(driver)
      const { credential, nonce = "" } = await server.login("ann on arm64")
      const idToken = credential?.case === "idToken" ? credential.value : ""
      await client.identity.login({ provider: "IDP_A", nonce, credential: { idToken } })
      const { audience, messagingUrl: baseUrl, issuerRootKey } = server
      await client.messenger.open({ baseUrl, audience, issuerRootKeys: [new Uint8Array(issuerRootKey)] })
      const ben = await messengers.newcomer("ben in Node")
      const request = { peerUserId: ben.person.userId }
      const id = (await client.messenger.createDirectConversation(request)).conversation?.id ?? ""
      await client.messenger.send({ conversationId: id, plaintext: utf8("from arm64") })
      await ben.messenger.sync()
      await ben.messenger.send(id, utf8("from Node"))
      await client.messenger.sync()
      const { entries } = await client.messenger.listTimeline({ conversationId: id })
      const texts = entries.flatMap(({ entry }) =>
        entry.case === "message" ? [new TextDecoder().decode(entry.value.plaintext)] : [],
      )
      expect([texts, await textsIn(ben, id)]).toEqual([
        ["from arm64", "from Node"],
        ["from arm64", "from Node"],
      ])
      expect(await driver.close()).toBe(0)
    } finally {
      driver.kill()
      await messengers.close()
      await server.close()
    }
  }, 900_000)
})
