// The hosts of libsignet, as they are on every system: primitives, secret box, data folder, files and HTTP.
import { execFileSync } from "node:child_process"
import { X509Certificate } from "node:crypto"
import { statSync, writeFileSync } from "node:fs"
import { createServer as createTlsServer } from "node:https"
import { type AddressInfo, createServer as createTcpServer } from "node:net"
import { join } from "node:path"
import { fromBinary } from "@bufbuild/protobuf"
import { HttpPieceSchema } from "@signet/proto/host/v1/host"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import { makeCertificate } from "../certificate.ts"
import { type Driver, type HostMode, status } from "./driver.ts"
import { type EchoServer, startEchoServer } from "./echo-server.ts"
import { wine } from "./library.ts"
import { primitiveVectors } from "./primitive-vectors.ts"
import { bytes, callCore, effect, type Json, outcome, primitive, type UnitLibrary, utf8 } from "./unit.ts"

/** Adds a certificate to the roots that the user of Wine trusts, or removes it. */
function setTrusted(pem: string, isTrusted: boolean): void {
  const { raw, fingerprint } = new X509Certificate(pem)
  const hash = fingerprint.replaceAll(":", "")
  const store = `HKCU\\Software\\Microsoft\\SystemCertificates\\Root\\Certificates\\${hash}`
  // A list of properties: number 32 is the certificate.
  const property = Buffer.alloc(12)
  for (const [i, word] of [32, 1, raw.length].entries()) property.writeUInt32LE(word, 4 * i)
  const blob = Buffer.concat([property, raw]).toString("hex")
  const args = isTrusted ? ["add", store, "/f", "/v", "Blob", "/t", "REG_BINARY", "/d", blob] : ["delete", store, "/f"]
  execFileSync("wine", ["reg", ...args], { env: { ...process.env, ...wine.env }, stdio: "ignore" })
}

/** Tests a library that `open` builds. */
export function testHosts(open: () => Promise<UnitLibrary>): void {
  let library: UnitLibrary
  let http: EchoServer
  const isWindows = () => library.platform === "windows-x64"
  beforeAll(async () => {
    library = await open()
    http = await startEchoServer()
  }, 1_800_000)
  afterEach(() => library?.endAll())
  afterAll(async () => {
    await library?.close()
    await http?.close()
  })

  test("every primitive gives the answers of its RFC", async () => {
    const driver = await library.open()
    for (const [name, args, answer] of primitiveVectors) {
      expect([name, await primitive(driver, ...args)]).toEqual([name, answer])
    }
  })

  test("refuses arguments that are not a primitive's", async () => {
    const driver = await library.open()
    for (let op = 0; op <= 28; op++) {
      if (op === 2 || op === 16 || op === 24) continue
      expect([op, await primitive(driver, op)]).toEqual([op, null])
      expect([op, await primitive(driver, op, "text", -1, { hex: "00" }, 1, 2, 3)]).toEqual([op, null])
    }
    expect(await primitive(driver, 1, 65_537)).toBe(null)
    expect(await primitive(driver, 17, 99, bytes("00"))).toBe(null)
    expect(await primitive(driver, 15, 99, "purpose", bytes("00"))).toBe(6)
  })

  test("holds signing keys that outlive the process, and seals for one scope and purpose", async () => {
    const dataFolder = library.newFolder()
    const scope = { tenant: "ten_1", app: "app_1", user: "prn_1", device: "0a" }
    const first = await library.open({ dataFolder })
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

    const second = await library.open({ dataFolder })
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

    const wrong = await library.open({
      dataFolder,
      box: { case: "passphrase", value: { passphrase: utf8("another") } },
    })
    expect(await hold(wrong, false, { user: "prn_2" })).toMatchObject({ kind: 4, box: 5 })
  })

  test("seals with keys that the program wraps, and makes none in the place of a lost one", async () => {
    const wrapped = {
      dataFolder: library.newFolder(),
      box: { case: "wrappedBox" as const, value: { backend: "test", version: 1 } },
    }
    const scope = { app: "app_1", user: "prn_1", device: "0a" }
    const hold = async (driver: Driver, create: boolean, user = "prn_1") => {
      const done = await outcome(driver, { case: "boxHold", value: { scope: { ...scope, user }, create } })
      return done.case === "boxHold" ? done.value.box : done.value
    }
    const first = await library.open(wrapped, "lost")
    expect(await hold(first, true)).toBe(1)
    const sealed = (await primitive(first, 14, 1, "purpose", bytes("0102"))) as Json
    await outcome(first, { case: "boxRotate", value: { scope } })
    await first.close()

    const again = await library.open(wrapped, "wrap")
    expect(await hold(again, false)).toBe(1)
    expect(await primitive(again, 15, 1, "purpose", sealed)).toEqual(bytes("0102"))
    await again.close()

    const lost = await library.open(wrapped, "lost")
    expect(await hold(lost, true)).toMatchObject({ kind: 4, box: 7 })
    expect(await outcome(lost, { case: "boxRotate", value: { scope } })).toMatchObject({ value: { kind: 4, box: 7 } })
    await lost.close()

    const other = await library.open(
      { ...wrapped, box: { ...wrapped.box, value: { backend: "other", version: 1 } } },
      "wrap",
    )
    expect(await hold(other, true)).toMatchObject({ kind: 4, box: 2 })
    await other.close()
    const passphrase = await library.open({ dataFolder: wrapped.dataFolder })
    expect(await hold(passphrase, true)).toMatchObject({ kind: 4, box: 8 })
    await passphrase.close()

    const last = await library.open(wrapped, "wrap")
    await outcome(last, { case: "boxDestroy", value: { scope } })
    expect(await hold(last, false)).toMatchObject({ kind: 4, box: 6 })
    await last.close()
  })

  test.each<[HostMode, number]>([
    ["fail", 1],
    ["garbage", 1],
    ["lie", 2],
  ])("survives a program whose wrapping primitives %s", async (mode, box) => {
    const value = { backend: "test", version: 1 }
    const driver = await library.open({ dataFolder: library.newFolder(), box: { case: "wrappedBox", value } }, mode)
    const scope = { app: "app_1" }
    expect(await outcome(driver, { case: "boxHold", value: { scope, create: true } })).toMatchObject({
      case: "failure",
      value: { kind: 4, box },
    })
  })

  test("stores rows by generation, and names by revision, for all processes of a folder", async () => {
    const dataFolder = library.newFolder()
    const [one, two] = [await library.open({ dataFolder }), await library.open({ dataFolder })]
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
    if (isWindows()) return
    expect(statSync(dataFolder).mode & 0o777).toBe(0o700)
    expect(statSync(join(dataFolder, "signet.db")).mode & 0o777).toBe(0o600)
  })

  test("one process at a time has the lock, and the lock is released when the process ends", async () => {
    const dataFolder = library.newFolder()
    const [one, two] = [await library.open({ dataFolder }), await library.open({ dataFolder })]
    const acquire = { case: "lockAcquire", value: {} } as const
    expect((await outcome(one, acquire)).case).toBe("done")
    let isHeld = false
    const waiting = outcome(two, acquire).then((done) => {
      isHeld = true
      return done
    })
    await callCore(one, "later", "200")
    expect(isHeld).toBe(false)
    one.kill()
    expect((await waiting).case).toBe("done")
  })

  test("reads and writes files that the app named", async () => {
    const driver = await library.open()
    const path = join(library.folder, "file")
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
    const driver = await library.open()
    const request = (path: string, change = {}) =>
      effect(driver, { case: "http", value: { method: "POST", url: http.url + path, body: utf8("hi"), ...change } })
    const headers = [{ name: "x-test", value: "1" }]
    const echo = (await request("/echo", { headers })).result
    if (echo.case !== "http") throw new Error(`the host answered ${echo.case}`)
    expect(new TextDecoder().decode(echo.value.body)).toBe("POST hi")
    const seen = JSON.parse(echo.value.headers.find(({ name }) => name === "x-seen")?.value ?? "{}")
    const added = isWindows() ? ["connection"] : []
    expect(Object.keys(seen).sort()).toEqual([...added, "content-length", "host", "x-test"])
    expect((await request("/redirect")).result).toMatchObject({ value: { status: 302 } })
    expect((await request("/slow", { timeoutMs: 100 })).result).toMatchObject({ value: { kind: 2 } })
    const again = (await request("/echo", { method: "GET", body: new Uint8Array() })).result
    if (again.case !== "http") throw new Error(`the host answered ${again.case}`)
    expect(again.value.headers.find(({ name }) => name === "x-seen")?.value).not.toContain("cookie")
    const stream = await request("/stream", { isStream: true })
    const pieces = stream.pieces.map((hex) => fromBinary(HttpPieceSchema, Buffer.from(hex, "hex")))
    expect(pieces[0]).toMatchObject({ status: 200, body: new Uint8Array() })
    expect(
      pieces
        .slice(1)
        .map(({ body }) => new TextDecoder().decode(body))
        .join(""),
    ).toBe("firstsecond")
    expect(stream.result).toMatchObject({ case: "http", value: { status: 200, body: new Uint8Array() } })
    const injected = await request("/echo", { headers: [{ name: "x", value: "1\r\ny: 2" }] })
    expect(injected.result).toMatchObject({ case: "failure" })
  })

  test("sends clear text to loopback addresses only", async () => {
    const driver = await library.open()
    const get = (url: string) => outcome(driver, { case: "http", value: { method: "GET", url } })
    const unreachable = { case: "failure", value: { kind: 1 } }
    for (const url of [
      "http://example.com/",
      "http://127.0.0.1.example.com/",
      "file:///etc/passwd",
      "ftp://127.0.0.1/",
    ]) {
      expect(await get(url)).toMatchObject(unreachable)
    }
    const closed = createTcpServer().listen(0, "127.0.0.1")
    await new Promise((resolve) => closed.once("listening", resolve))
    const { port } = closed.address() as AddressInfo
    await new Promise((resolve) => closed.close(resolve))
    expect(await get(`http://127.0.0.1:${port}/`)).toMatchObject(unreachable)
  })

  test("verifies a server's certificate, and the name in it", async (context) => {
    const certificate = makeCertificate()
    if (certificate === undefined) return context.skip("TLS is not tested: openssl is missing")
    const server = createTlsServer(certificate, (_, response) => response.end("secret")).listen(0)
    await new Promise((resolve) => server.once("listening", resolve))
    const { port } = server.address() as AddressInfo
    const trustAnchors = join(library.folder, "anchors.pem")
    writeFileSync(trustAnchors, certificate.cert)
    const get = (driver: Driver, host: string) =>
      outcome(driver, { case: "http", value: { method: "GET", url: `https://${host}:${port}/` } })
    const refused = { case: "failure", value: { kind: 1 } }
    if (isWindows()) {
      await expect(library.open({ trustAnchors })).rejects.toMatchObject({ status: status.ARGUMENT })
      setTrusted(certificate.cert, true)
    }
    try {
      const trusting = await library.open(isWindows() ? {} : { trustAnchors })
      // Wine compares no addresses.
      const named = isWindows() ? "localhost" : "127.0.0.1"
      expect(await get(trusting, named)).toMatchObject({ case: "http", value: { body: utf8("secret") } })
      expect(await get(trusting, "127.0.0.2")).toMatchObject(refused)
    } finally {
      if (isWindows()) setTrusted(certificate.cert, false)
    }
    const other = await library.open()
    for (const host of ["localhost", "127.0.0.1"]) expect(await get(other, host)).toMatchObject(refused)
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
}
