// libsignet by its C interface, with a core for tests that makes the host do one thing at a time.
import { execFileSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { type AddressInfo, createServer as createTcpServer } from "node:net"
import { join } from "node:path"
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { type EffectResult, EffectResultSchema, EffectSchema, HttpPieceSchema } from "@signet/proto/host/v1/host"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import {
  type Driver,
  type HostMode,
  type NativeOptionsInit,
  optionsBytes,
  startDriver,
  status,
} from "../support/native/driver.ts"
import { buildNative, whyNoLibrary } from "../support/native/library.ts"
import { primitiveVectors } from "../support/native/primitive-vectors.ts"

/** A JSON argument or answer of the tests' core. */
type Json = number | string | null | { readonly hex: string }
type Effect = MessageInitShape<typeof EffectSchema>["effect"]

const utf8 = (text: string) => new TextEncoder().encode(text)
const bytes = (hex: string) => ({ hex })
/** Names of the interface; signet.h documents each. */
const functions = ["abi_version", "buf_free", "call", "close", "complete", "next", "open", "push"]
const maxLibraryBytes = 2_500_000

describe.skipIf(whyNoLibrary !== undefined)(whyNoLibrary ?? "libsignet", () => {
  let programs: string
  let folder: string
  let http: Server
  let base: string
  let count = 0
  const drivers: Driver[] = []

  beforeAll(async () => {
    folder = mkdtempSync(join(fastTmpdir(), "signet-unit-"))
    programs = (await buildNative()).folder
    http = createServer((request, response) => {
      if (request.url === "/redirect") response.writeHead(302, { location: "/echo" }).end()
      else if (request.url === "/slow") setTimeout(() => response.end(), 5_000)
      else if (request.url === "/stream") {
        response.writeHead(200, { "x-one": "1" })
        response.write("first")
        setTimeout(() => response.end("second"), 100)
      } else {
        const parts: Buffer[] = []
        request.on("data", (part: Buffer) => parts.push(part))
        request.on("end", () =>
          response
            .writeHead(200, { "set-cookie": "a=1", "x-seen": JSON.stringify(request.headers) })
            .end(`${request.method} ${Buffer.concat(parts).toString()}`),
        )
      }
    })
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
    base = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  }, 900_000)
  afterEach(() => {
    for (const driver of drivers.splice(0)) driver.kill()
  })
  afterAll(() => {
    http?.closeAllConnections()
    http?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const optionsFor = (change: Partial<NativeOptionsInit> = {}): NativeOptionsInit => ({
    identity: { appId: "app_test" },
    dataFolder: join(folder, String(++count)),
    box: { case: "passphrase", value: { passphrase: utf8("a passphrase") } },
    ...change,
  })

  async function open(change?: Partial<NativeOptionsInit>, mode?: HostMode): Promise<Driver> {
    const driver = startDriver(programs, "unit-driver")
    drivers.push(driver)
    await driver.open(optionsFor(change), mode)
    return driver
  }

  const call = async (driver: Driver, method: string, text = ""): Promise<unknown> =>
    JSON.parse(new TextDecoder().decode(await driver.call(method, utf8(text))))
  const primitive = (driver: Driver, ...args: readonly Json[]) => call(driver, "host", JSON.stringify(args))

  async function effect(driver: Driver, value: Effect): Promise<{ result: EffectResult["result"]; pieces: string[] }> {
    const request = toBinary(EffectSchema, create(EffectSchema, { effect: value }))
    const { result, pieces } = JSON.parse(new TextDecoder().decode(await driver.call("effect", request)))
    return { result: fromBinary(EffectResultSchema, new Uint8Array(Buffer.from(result, "hex"))).result, pieces }
  }
  const outcome = async (driver: Driver, value: Effect) => (await effect(driver, value)).result

  test("exports exactly the functions of signet.h, and is small", () => {
    const list = execFileSync("nm", ["-D", "--defined-only", join(programs, "libsignet.so")], { encoding: "utf8" })
    const names = list.split("\n").flatMap((line) => / T (\S+?)@@SIGNET_1$/.exec(line)?.[1] ?? [])
    expect(names.sort()).toEqual(functions.map((name) => `signet_${name}`))
    const all = list.trim().split("\n").filter((line) => !line.endsWith(" A SIGNET_1"))
    expect(all).toHaveLength(functions.length)
    const stripped = join(folder, "stripped.so")
    execFileSync("strip", ["-o", stripped, join(programs, "libsignet.so")])
    expect(statSync(stripped).size).toBeLessThan(maxLibraryBytes)
  })

  test("rejects wrong uses with a status, from any thread", () => {
    const options = Buffer.from(optionsBytes(optionsFor())).toString("hex")
    expect(execFileSync(join(programs, "misuse"), [options], { encoding: "utf8" })).toBe("")
  })

  test("returns BUSY to a second thread, and HANDLE to a thread that waits while the client is closed", async () => {
    const driver = await open()
    expect(await driver.command("close-beside")).toBe(`0 ${status.HANDLE} ${status.BUSY}`)
  })

  test("every primitive gives the answers of its RFC", async () => {
    const driver = await open()
    for (const [name, args, answer] of primitiveVectors) {
      expect([name, await primitive(driver, ...args)]).toEqual([name, answer])
    }
  })

  test("refuses arguments that are not a primitive's", async () => {
    const driver = await open()
    for (let op = 0; op <= 26; op++) {
      if (op === 2 || op === 16 || op === 24) continue
      expect([op, await primitive(driver, op)]).toEqual([op, null])
      expect([op, await primitive(driver, op, "text", -1, { hex: "00" }, 1, 2, 3)]).toEqual([op, null])
    }
    expect(await primitive(driver, 1, 65_537)).toBe(null)
    expect(await primitive(driver, 17, 99, bytes("00"))).toBe(null)
    expect(await primitive(driver, 15, 99, "purpose", bytes("00"))).toBe(6)
  })

  test("holds signing keys that outlive the process, and seals for one scope and purpose", async () => {
    const dataFolder = join(folder, String(++count))
    const scope = { tenant: "ten_1", app: "app_1", user: "prn_1", device: "0a" }
    const first = await open({ dataFolder })
    const hold = async (driver: Driver, create: boolean, change = {}) => {
      const done = await outcome(driver, { case: "boxHold", value: { scope: { ...scope, ...change }, create } })
      return done.case === "boxHold" ? done.value.box : done.value
    }
    expect(await hold(first, false)).toMatchObject({ kind: 4, box: 6 })
    const box = await hold(first, true)
    expect(box).toBe(1)
    const made = await primitive(first, 11, 1)
    const sealed = await primitive(first, 14, 1, "purpose", bytes("0102"))
    expect(made).toMatchObject({ hex: expect.stringMatching(/^[0-9a-f]{128}$/) })
    const { hex: pair } = made as { hex: string }
    await outcome(first, { case: "boxRotate", value: { scope } })
    const later = await primitive(first, 14, 1, "purpose", bytes("0304"))
    await first.close()

    const second = await open({ dataFolder })
    await hold(second, false)
    const signature = (await primitive(second, 12, 1, bytes(pair.slice(0, 64)), bytes("abcd"))) as Json
    expect(await primitive(second, 13, bytes(pair.slice(64)), bytes("abcd"), signature)).toBe(1)
    expect(await primitive(second, 13, bytes(pair.slice(64)), bytes("abce"), signature)).toBe(0)
    expect(await primitive(second, 15, 1, "purpose", sealed as Json)).toEqual(bytes("0102"))
    expect(await primitive(second, 15, 1, "purpose", later as Json)).toEqual(bytes("0304"))
    expect(await primitive(second, 15, 1, "another", sealed as Json)).toBe(8)
    expect(await hold(second, true, { user: "prn_2" })).toBe(2)
    expect(await primitive(second, 15, 2, "purpose", sealed as Json)).toBe(4)
    await outcome(second, { case: "boxDestroy", value: { scope } })
    expect(await primitive(second, 15, 1, "purpose", sealed as Json)).toBe(6)
    expect(await hold(second, false)).toMatchObject({ kind: 4, box: 6 })
    await second.close()

    const wrong = await open({ dataFolder, box: { case: "passphrase", value: { passphrase: utf8("another") } } })
    expect(await hold(wrong, false, { user: "prn_2" })).toMatchObject({ kind: 4, box: 5 })
  })

  test("stores rows by generation, and names by revision, for all processes of a folder", async () => {
    const dataFolder = join(folder, String(++count))
    const [one, two] = [await open({ dataFolder }), await open({ dataFolder })]
    const put = (key: string, kind = 1) => ({ kind, table: "t", key, value: utf8(key) })
    const write = (driver: Driver, expectedGeneration: bigint, ...ops: object[]) =>
      outcome(driver, { case: "storeTransact", value: { space: "device", expectedGeneration, ops } })
    expect(await write(one, 0n, put("b"), put("a", 2))).toMatchObject({ value: { outcome: 1 } })
    expect(await write(two, 0n, put("c"))).toMatchObject({ value: { outcome: 2 } })
    expect(await write(two, 1n, put("c"), put("a", 2))).toMatchObject({ value: { outcome: 3 } })
    expect(await write(two, 1n, put("c"), put("b", 3))).toMatchObject({ value: { outcome: 1 } })
    const wanted = ["a", "b", "c"].map((key) => ({ table: "t", key }))
    expect(await outcome(one, { case: "storeRead", value: { space: "device", wanted } })).toMatchObject({
      value: { generation: 2n, values: [{ exists: true, value: utf8("a") }, { exists: false }, { exists: true }] },
    })
    const list = await outcome(one, { case: "storeList", value: { space: "device", table: "t", after: "a" } })
    expect(list).toMatchObject({ value: { rows: [{ key: "c", value: utf8("c") }] } })
    expect(await outcome(one, { case: "storeSpaces", value: {} })).toMatchObject({ value: { spaces: ["device"] } })
    expect(await write(one, 2n, { ...put("x"), kind: 9 })).toMatchObject({ case: "failure", value: { kind: 3 } })

    const named = (driver: Driver, text: string, expected?: string) =>
      outcome(driver, {
        case: "storageWrite",
        value: { name: "n", bytes: utf8(text), ...(expected !== undefined && { expected }) },
      })
    const written = await named(one, "v1")
    const revision = written.case === "storageWrite" ? written.value.revision : ""
    expect(revision).not.toBe("")
    expect(await named(two, "v2")).toMatchObject({ value: { revision: "" } })
    expect(await named(two, "v2", revision)).toMatchObject({ value: { revision: expect.stringMatching(/./) } })
    expect(await named(one, "v3", revision)).toMatchObject({ value: { revision: "" } })
    const read = await outcome(one, { case: "storageRead", value: { name: "n" } })
    expect(read).toMatchObject({ value: { bytes: utf8("v2") } })
    const remove = (expected: string) => outcome(one, { case: "storageRemove", value: { name: "n", expected } })
    expect(await remove(revision)).toMatchObject({ value: { removed: false } })
    expect(await remove("any")).toMatchObject({ value: { removed: true } })
    expect(statSync(dataFolder).mode & 0o777).toBe(0o700)
    expect(statSync(join(dataFolder, "signet.db")).mode & 0o777).toBe(0o600)
  })

  test("one process at a time has the lock, and its end releases it", async () => {
    const dataFolder = join(folder, String(++count))
    const [one, two] = [await open({ dataFolder }), await open({ dataFolder })]
    const acquire = { case: "lockAcquire", value: {} } as const
    expect((await outcome(one, acquire)).case).toBe("done")
    let isHeld = false
    const waiting = outcome(two, acquire).then((done) => {
      isHeld = true
      return done
    })
    await call(one, "later", "200")
    expect(isHeld).toBe(false)
    one.kill()
    expect((await waiting).case).toBe("done")
  })

  test("reads and writes files that the app named", async () => {
    const driver = await open()
    const path = join(folder, "file")
    const write = (offset: bigint, text: string, isLast: boolean) =>
      outcome(driver, { case: "fileWrite", value: { path, offset, bytes: utf8(text), isLast } })
    expect(await write(0n, "abc", false)).toMatchObject({ case: "done" })
    expect(await write(0n, "abc", false)).toMatchObject({ case: "failure", value: { kind: 6 } })
    expect(await write(2n, "x", false)).toMatchObject({ case: "failure", value: { kind: 6 } })
    expect(await write(3n, "def", true)).toMatchObject({ case: "done" })
    const read = (offset: bigint) => outcome(driver, { case: "fileRead", value: { path, offset, length: 4 } })
    expect(await read(3n)).toMatchObject({ value: { bytes: utf8("def") } })
    expect(await outcome(driver, { case: "fileInfo", value: { path } })).toMatchObject({ value: { size: 6n } })
    const none = await outcome(driver, { case: "fileInfo", value: { path: `${path}2` } })
    expect(none).toMatchObject({ case: "failure", value: { kind: 6 } })
  })

  test("sends requests as they are: no redirect, cookie, or header of its own", async () => {
    const driver = await open()
    const request = (path: string, change = {}) =>
      effect(driver, { case: "http", value: { method: "POST", url: base + path, body: utf8("hi"), ...change } })
    const headers = [{ name: "x-test", value: "1" }]
    const echo = (await request("/echo", { headers })).result
    if (echo.case !== "http") throw new Error(`the host answered ${echo.case}`)
    expect(new TextDecoder().decode(echo.value.body)).toBe("POST hi")
    const seen = JSON.parse(echo.value.headers.find(({ name }) => name === "x-seen")?.value ?? "{}")
    expect(Object.keys(seen).sort()).toEqual(["content-length", "host", "x-test"])
    expect((await request("/redirect")).result).toMatchObject({ value: { status: 302 } })
    expect((await request("/slow", { timeoutMs: 100 })).result).toMatchObject({ value: { kind: 2 } })
    const again = (await request("/echo", { method: "GET", body: new Uint8Array() })).result
    if (again.case !== "http") throw new Error(`the host answered ${again.case}`)
    expect(again.value.headers.find(({ name }) => name === "x-seen")?.value).not.toContain("cookie")
    const stream = await request("/stream", { isStream: true })
    const pieces = stream.pieces.map((hex) => fromBinary(HttpPieceSchema, Buffer.from(hex, "hex")))
    expect(pieces[0]).toMatchObject({ status: 200, body: new Uint8Array() })
    expect(pieces.slice(1).map(({ body }) => new TextDecoder().decode(body)).join("")).toBe("firstsecond")
    expect(stream.result).toMatchObject({ case: "http", value: { status: 200, body: new Uint8Array() } })
    const injected = await request("/echo", { headers: [{ name: "x", value: "1\r\ny: 2" }] })
    expect(injected.result).toMatchObject({ case: "failure" })
  })

  test("reaches no address in clear text that is not of this machine", async () => {
    const driver = await open()
    const get = (url: string) => outcome(driver, { case: "http", value: { method: "GET", url } })
    const unreachable = { case: "failure", value: { kind: 1 } }
    for (const url of ["http://example.com/", "http://127.0.0.1.example.com/", "file:///etc/passwd", "ftp://127.0.0.1/"]) {
      expect(await get(url)).toMatchObject(unreachable)
    }
    const closed = createTcpServer().listen(0, "127.0.0.1")
    await new Promise((resolve) => closed.once("listening", resolve))
    const { port } = closed.address() as AddressInfo
    await new Promise((resolve) => closed.close(resolve))
    expect(await get(`http://127.0.0.1:${port}/`)).toMatchObject(unreachable)
  })

  test("keeps time, runs promises, and has no eval", async () => {
    const driver = await open()
    expect(await call(driver, "later", "50")).toBeLessThan(5_000)
    expect(await call(driver, "promises")).toBe(499_500)
    expect(await call(driver, "evaluate")).toBe("refused")
    expect(await call(driver, "recurse", "1000")).toBe(1000)
    await call(driver, "many", "100")
    expect(driver.events.map(({ bytes }) => new TextDecoder().decode(bytes))).toEqual(Array.from({ length: 100 }, (_, i) => `${i}`))
  })

  test("passes the effects that the program performs to the program", async () => {
    const performs = Array.from({ length: 14 }, (_, i) => i + 1)
    const driver = await open({
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
    await driver.command(`call 51 cancel ${Buffer.from("9").toString("hex")}`)
    expect(await driver.next(1_000)).toMatchObject({ kind: 1, id: 51 })
    expect(await driver.next(1_000)).toMatchObject({ kind: 5, id: 9 })
  })

  test.each<[string, Partial<NativeOptionsInit>, number]>([
    ["no box", { box: { case: undefined } }, status.ARGUMENT],
    ["an empty passphrase", { box: { case: "passphrase", value: {} } }, status.ARGUMENT],
    ["a box without a backend", { box: { case: "programBox", value: {} } }, status.ARGUMENT],
    ["no folder", { dataFolder: "" }, status.ARGUMENT],
    ["a folder without a parent", { dataFolder: "/nonexistent/folder/of/signet" }, status.OPEN],
    ["a memory limit that is too large", { memoryLimitMib: 513 }, status.ARGUMENT],
    ["options that the core refuses", { identity: { appId: "refuse" } }, status.OPEN],
  ])("does not open with %s", async (_, change, expected) => {
    await expect(open(change)).rejects.toMatchObject({ status: expected })
  })

  test.each<[HostMode]>([["fail"], ["lie"], ["garbage"]])("survives a program whose primitives %s", async (mode) => {
    const driver = await open({}, mode)
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
        const driver = await open({}, "fixed")
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
    const dataFolder = join(folder, String(++count))
    const driver = await open({ dataFolder, memoryLimitMib: 32 })
    await outcome(driver, { case: "storageWrite", value: { name: "n", bytes: utf8("kept") } })
    await expect(call(driver, method, text)).rejects.toMatchObject({ status: status.STOPPED })
    expect(Number(await driver.command("call 99 echo -"))).toBe(status.STOPPED)
    expect((await driver.next(0)).status).toBe(status.STOPPED)
    expect(await driver.close()).toBe(status.OK)
    const again = await open({ dataFolder })
    const read = await outcome(again, { case: "storageRead", value: { name: "n" } })
    expect(read).toMatchObject({ value: { bytes: utf8("kept") } })
  })

  test("leaves no plaintext, passphrase or header in memory after close", async () => {
    const driver = await open({ box: { case: "passphrase", value: { passphrase: utf8("planted-passphrase-7f1e") } } })
    const scope = { app: "app_1" }
    await outcome(driver, { case: "boxHold", value: { scope, create: true } })
    await call(driver, "keep", "planted-plaintext-91ab")
    await primitive(driver, 14, 1, "p", bytes(Buffer.from("planted-plaintext-91ab").toString("hex")))
    await effect(driver, {
      case: "http",
      value: {
        ...{ method: "POST", url: `${base}/echo`, body: utf8("planted-body-55cd") },
        headers: [{ name: "authorization", value: "Bearer planted-token-c0de" }],
      },
    })
    expect(await driver.scan("planted-plaintext-91ab")).toBeGreaterThan(0)
    await driver.close()
    for (const planted of ["planted-plaintext-91ab", "planted-passphrase-7f1e", "planted-token-c0de", "planted-body-55cd"]) {
      expect([planted, await driver.scan(planted)]).toEqual([planted, 0])
    }
  })

  test("installs a header, a library, and files for pkg-config and CMake", () => {
    const prefix = join(folder, "prefix")
    execFileSync("cmake", ["--install", programs, "--prefix", prefix, "--strip"], { stdio: "ignore" })
    const library = execFileSync("find", [prefix, "-name", "signet.pc"], { encoding: "utf8" }).trim().replace(/\/pkgconfig.*/, "")
    expect(existsSync(join(prefix, "include/signet.h"))).toBe(true)
    expect(existsSync(join(library, "cmake/Signet/SignetConfig.cmake"))).toBe(true)
    expect(existsSync(join(library, "libsignet.so"))).toBe(true)
  })
})
