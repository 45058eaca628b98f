// The C interface of libsignet, as it is on every system: uses, misuses, and what a faulty program or core leads to.
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { EffectSchema, Primitive } from "@signet/proto/host/v1/host"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import { type HostMode, type NativeOptionsInit, optionsBytes, status } from "./driver.ts"
import { type EchoServer, startEchoServer } from "./echo-server.ts"
import { bytes, callCore, effect, outcome, primitive, type UnitLibrary, utf8 } from "./unit.ts"

/** Tests a library that `open` builds. */
export function testInterface(open: () => Promise<UnitLibrary>): void {
  let library: UnitLibrary
  let http: EchoServer
  beforeAll(async () => {
    library = await open()
    http = await startEchoServer()
  }, 1_800_000)
  afterEach(() => library?.endAll())
  afterAll(async () => {
    await library?.close()
    await http?.close()
  })

  test("rejects wrong uses with a status, from any thread", () => {
    const options = Buffer.from(optionsBytes(library.optionsFor())).toString("hex")
    const { command, suffix, env } = library.emulator
    const [program = "", ...args] = [...command, join(library.programs, `misuse${suffix ?? ""}`), options]
    expect(execFileSync(program, args, { encoding: "utf8", env: { ...process.env, ...env } })).toBe("")
  })

  test("returns BUSY to a second thread, and HANDLE to a thread that waits while the client is closed", async () => {
    const driver = await library.open()
    expect(await driver.command("close-beside")).toBe(`0 ${status.HANDLE} ${status.BUSY}`)
  })

  test("has timers and promises, and no eval", async () => {
    const driver = await library.open()
    expect(await callCore(driver, "later", "50")).toBeLessThan(5_000)
    expect(await callCore(driver, "promises")).toBe(499_500)
    expect(await callCore(driver, "evaluate")).toBe("refused")
    expect(await callCore(driver, "recurse", "1000")).toBe(1000)
    await callCore(driver, "many", "100")
    expect(driver.events.map(({ bytes }) => new TextDecoder().decode(bytes))).toEqual(
      Array.from({ length: 100 }, (_, i) => `${i}`),
    )
  })

  test("passes the effects that the program performs to the program", async () => {
    const performs = Array.from({ length: 14 }, (_, i) => i + 1)
    const driver = await library.open({
      ...{ dataFolder: "", performs },
      box: { case: "programBox", value: { backend: "test", version: 1 } },
    })
    const request = toBinary(EffectSchema, create(EffectSchema, { effect: { case: "storeSpaces", value: {} } }))
    await driver.command(`call 50 effect ${Buffer.from(request).toString("hex")}`)
    const passed = await driver.next(1_000)
    expect(passed).toMatchObject({ kind: 4, id: 1, bytes: request })
    await driver.command("push 1 0801")
    await driver.command("complete 1 6a00")
    const reply = JSON.parse(new TextDecoder().decode((await driver.next(1_000)).bytes))
    expect(reply).toEqual({ effect: 1, result: "6a00", pieces: ["0801"] })
    await driver.command(`call 51 effect ${Buffer.from(request).toString("hex")}`)
    expect(await driver.next(1_000)).toMatchObject({ kind: 4, id: 2 })
    const cancel = (call: number, id: string) =>
      driver.command(`call ${call} cancel ${Buffer.from(id).toString("hex")}`)
    await cancel(52, "2")
    expect(await driver.next(1_000)).toMatchObject({ kind: 1, id: 52 })
    expect(await driver.next(1_000)).toMatchObject({ kind: 5, id: 2 })
    // A completed effect, and the program's second cancellation, are not passed.
    await cancel(53, "1")
    await cancel(54, "2")
    expect([(await driver.next(1_000)).id, (await driver.next(1_000)).id]).toEqual([53, 54])
    expect((await driver.next(0)).status).toBe(status.TIMEOUT)
  })

  test("passes wake-ups to a program that performs them, and has no timer then", async () => {
    const driver = await library.open({ performs: [22] })
    const later = (call: number, ms: string) => driver.command(`call ${call} later ${Buffer.from(ms).toString("hex")}`)
    const wakeUp = async (): Promise<[number, bigint]> => {
      const { kind, id, bytes } = await driver.next(0)
      const { effect } = fromBinary(EffectSchema, bytes)
      if (kind !== 4 || effect.case !== "wakeUp") throw new Error(`the output has the kind ${kind}`)
      return [id, effect.value.atMs]
    }
    await later(1, "60000")
    const [first, lateMs] = await wakeUp()
    await later(2, "5")
    expect(await driver.next(0)).toMatchObject({ kind: 5, id: first })
    const [second, soonMs] = await wakeUp()
    expect(lateMs - soonMs).toBeGreaterThan(50_000n)
    // Long after the time.
    expect((await driver.next(100)).status).toBe(status.TIMEOUT)
    await driver.command(`complete ${first} -`)
    expect((await driver.next(0)).status).toBe(status.TIMEOUT)
    await driver.command(`complete ${second} -`)
    expect(await driver.next(0)).toMatchObject({ kind: 1, id: 2 })
    const [third, againMs] = await wakeUp()
    expect(againMs).toBe(lateMs)
    // It wakes early, and the core asks again.
    await driver.command(`complete ${third} -`)
    expect((await wakeUp())[1]).toBe(lateMs)
    expect((await driver.next(0)).status).toBe(status.TIMEOUT)
  })

  test.each<[string, Partial<NativeOptionsInit>, number]>([
    ["no box", { box: { case: undefined } }, status.ARGUMENT],
    ["an empty passphrase", { box: { case: "passphrase", value: {} } }, status.ARGUMENT],
    ["a box without a backend", { box: { case: "programBox", value: {} } }, status.ARGUMENT],
    [
      "a wrapped box without functions of the program",
      { box: { case: "wrappedBox", value: { backend: "test", version: 1 } } },
      status.ARGUMENT,
    ],
    ["no folder", { dataFolder: "" }, status.ARGUMENT],
    ["a folder without a parent", { dataFolder: "/nonexistent/folder/of/signet" }, status.OPEN],
    ["a memory limit that is too large", { memoryLimitMib: 513 }, status.ARGUMENT],
    ["a sign-in of a program that has no tokens", { session: { appId: "app_1", userId: "prn_1" } }, status.ARGUMENT],
    ["deferred primitives that the program does not perform", { deferred: [Primitive.BOX_SEAL] }, status.ARGUMENT],
    ["options that the core refuses", { identity: { appId: "refuse" } }, status.OPEN],
  ])("does not open with %s", async (_, change, expected) => {
    await expect(library.open(change)).rejects.toMatchObject({ status: expected })
  })

  test.each<[HostMode]>([["fail"], ["lie"], ["garbage"]])("survives a program whose primitives %s", async (mode) => {
    const driver = await library.open({}, mode)
    for (let op = 3; op <= 19; op++) {
      const answer = await primitive(driver, op, bytes("00"), bytes("00"), 32)
      // Where any length is right, the program's bytes are.
      const isFree = mode === "lie" && [6, 7, 8, 14, 15, 17, 19].includes(op)
      expect([op, answer]).toEqual([op, isFree ? bytes("00".repeat(7)) : null])
    }
    expect(await driver.close()).toBe(status.OK)
  })

  test("gives the same randomness and time to the core for the same ones of the program", async () => {
    const runs = await Promise.all(
      [1, 2].map(async () => {
        const driver = await library.open({}, "fixed")
        return [await primitive(driver, 1, 32), await primitive(driver, 2)]
      }),
    )
    expect(runs[0]).toEqual(runs[1])
    expect(runs[0]?.[1]).toBe(1_700_000_000_000)
  })

  test.each([
    ["throws", "throw", ""],
    ["recurses without end", "recurse", "1000000"],
    ["takes all memory", "fill", ""],
  ])("stops a core that %s, and opens its folder again", async (_, method, text) => {
    const dataFolder = library.newFolder()
    const driver = await library.open({ dataFolder, memoryLimitMib: 32 })
    await outcome(driver, { case: "storageWrite", value: { name: "n", bytes: utf8("kept") } })
    await expect(callCore(driver, method, text)).rejects.toMatchObject({ status: status.STOPPED })
    expect(Number(await driver.command("call 99 echo -"))).toBe(status.STOPPED)
    expect((await driver.next(0)).status).toBe(status.STOPPED)
    expect(await driver.close()).toBe(status.OK)
    const again = await library.open({ dataFolder })
    const read = await outcome(again, { case: "storageRead", value: { name: "n" } })
    expect(read).toMatchObject({ value: { bytes: utf8("kept") } })
  })

  test("leaves no plaintext, passphrase or header in memory after close", async () => {
    const driver = await library.open({
      box: { case: "passphrase", value: { passphrase: utf8("planted-passphrase-7f1e") } },
    })
    const scope = { app: "app_1" }
    await outcome(driver, { case: "boxHold", value: { scope, create: true } })
    await callCore(driver, "keep", "planted-plaintext-91ab")
    await primitive(driver, 14, 1, "p", bytes(Buffer.from("planted-plaintext-91ab").toString("hex")))
    await effect(driver, {
      case: "http",
      value: {
        ...{ method: "POST", url: `${http.url}/echo`, body: utf8("planted-body-55cd") },
        headers: [{ name: "authorization", value: "Bearer planted-token-c0de" }],
      },
    })
    expect(await driver.scan("planted-plaintext-91ab")).toBeGreaterThan(0)
    await driver.close()
    // WinHTTP keeps copies of what it sends and receives: tokens, and no plaintext of a message.
    const sent = library.platform === "windows-x64" ? [] : ["planted-token-c0de", "planted-body-55cd"]
    for (const planted of ["planted-plaintext-91ab", "planted-passphrase-7f1e", ...sent]) {
      expect([planted, await driver.scan(planted)]).toEqual([planted, 0])
    }
  })
}
