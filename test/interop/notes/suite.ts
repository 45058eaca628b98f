// What the notes service does, in whatever language: the same answers as ours, for the same reasons.
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { createFileRegistry, type DescService, fromBinary, type JsonValue, toJson } from "@bufbuild/protobuf"
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { Client, credentials, Metadata } from "@grpc/grpc-js"
import { refusals } from "@signet/kernel/errors"
import { AuthContextSchema } from "@signet/proto/authz/v1/context"
import { afterAll, beforeAll, expect, test } from "vitest"
import { createVerifier } from "../../../server/guard/access-token.ts"
import { parseBearer } from "../../../server/guard/bearer.ts"
import { ids } from "../../../server/guard/testing/issuer.ts"
import { webTokenCrypto } from "../../../server/guard/token-crypto.ts"
import { makeCertificate } from "../../support/certificate.ts"
import { bearer, clientsOver } from "../../support/clients.ts"
import { sample } from "../../support/effort.ts"
import { failureOf, reader, writer } from "../../support/grpc-js.ts"
import { storyStore } from "../../support/postgres.ts"
import { startTestServer } from "../../support/server.ts"
import { goldenVectors } from "./golden.ts"
import { serveLargeDetails } from "./large-details.ts"
import { headersOf, makeIssuer } from "./tokens.ts"
import { vectors } from "./vectors.ts"
import { wireContext } from "./wire-context.ts"
import { makeWorkspace, runBuf } from "./workspace.ts"

/** The command that runs the program, and what removes it again. */
interface NotesProgram {
  readonly command: readonly [string, ...string[]]
  readonly close?: () => void
}

/** For a machine that has nothing of it yet, and other work. */
const buildTimeoutMs = 600_000

export function testNotes(build: () => NotesProgram): void {
  const issuer = makeIssuer()
  const keys = createServer(({ url }, response) => {
    response.statusCode = url === "/jwks.json" ? 200 : 404
    response.end(JSON.stringify({ keys: issuer.jwks() }))
  })
  let program: NotesProgram
  let service: DescService
  let serving: ChildProcess
  let client: Client

  const start = (...parts: string[]) => {
    const [command, ...before] = program.command
    return spawn(command, [...before, ...parts], { stdio: ["pipe", "pipe", "inherit"] })
  }
  const settings = () => ({
    issuer: issuer.issuer,
    audience: issuer.audience,
    jwksUrl: `http://127.0.0.1:${(keys.address() as AddressInfo).port}/jwks.json`,
  })

  beforeAll(async () => {
    program = build()
    service = readService()
    await once(keys.listen(0, "127.0.0.1"), "listening")
    serving = start("serve", "NotesService")
    serving.stdin?.write(`${JSON.stringify(settings())}\n`)
    client = new Client(`127.0.0.1:${await firstLine(serving)}`, credentials.createInsecure())
  }, buildTimeoutMs)
  afterAll(() => {
    client?.close()
    serving?.stdin?.end()
    keys.close()
    program?.close?.()
  })

  function methodOf(name: string) {
    const method = service.methods.find((one) => one.name === name)
    if (method === undefined) throw new Error(`no method ${name}`)
    return { path: `/${service.typeName}/${name}`, write: writer(method.input), read: reader(method.output), method }
  }

  function call(
    name: string,
    request: Record<string, unknown>,
    headers: Readonly<Record<string, string>> = {},
    of: Client = client,
  ): Promise<JsonValue> {
    const { path, write, read, method } = methodOf(name)
    const metadata = new Metadata()
    for (const [key, value] of Object.entries(headers)) metadata.set(key, value)
    return new Promise((resolve, reject) => {
      of.makeUnaryRequest(path, write, read, request, metadata, {}, (error, response) => {
        if (response) resolve(toJson(method.output, response))
        else reject(error)
      })
    })
  }

  function list(headers: Readonly<Record<string, string>>): Promise<JsonValue[]> {
    const { path, write, read, method } = methodOf("ListNotes")
    const metadata = new Metadata()
    for (const [key, value] of Object.entries(headers)) metadata.set(key, value)
    const stream = client.makeServerStreamRequest(path, write, read, {}, metadata)
    const seen: JsonValue[] = []
    stream.on("data", (message) => seen.push(toJson(method.output, message)))
    return new Promise((resolve, reject) => stream.on("end", () => resolve(seen)).on("error", reject))
  }

  test("takes the tokens that ours takes, sees the same caller in them, and refuses others for the same reasons", async () => {
    const verify = createVerifier({
      issuer: issuer.issuer,
      audience: issuer.audience,
      keySet: {
        async find(kid) {
          return kid === issuer.jwk.kid ? webTokenCrypto.importKey(issuer.jwk) : "KEY_UNKNOWN"
        },
      },
      crypto: webTokenCrypto,
      clock: { nowMs: Date.now },
      cacheSize: 0,
    })
    const headers = Object.entries(headersOf(issuer))
    const seen: Record<string, unknown> = {}
    const expected: Record<string, unknown> = {}
    for (const [name, authorization] of headers) {
      const parsed = parseBearer(authorization)
      const caller = typeof parsed === "string" ? parsed : await verify(parsed.token)
      const told = call("Whoami", {}, authorization === null ? {} : { authorization })
      if (typeof caller === "string") {
        const { info, code } = await failureOf(told)
        seen[name] = `${code} ${info?.domain} ${info?.reason}`
        expected[name] = `${refusals[caller].code.toUpperCase()} signet ${caller}`
      } else {
        seen[name] = await told.catch(String)
        expected[name] = { context: toJson(AuthContextSchema, wireContext(caller)) }
      }
    }
    expect(seen).toEqual(expected)
    expect(headers.length).toBeGreaterThan(50)
  })

  test("asks of each method what its descriptor says", async () => {
    const token = (change: object) => ({ authorization: `Bearer ${issuer.token(change)}` })
    const writing = token({ tenant_id: ids.tenant, scp: ["notes.read", "notes.write"] })
    const mine = { tenantId: ids.tenant, text: "hello" }
    expect(await call("Ping", {}, { authorization: "Bearer stale" })).toEqual({})
    expect(await call("CreateNote", mine, writing)).toEqual({ author: ids.principal })
    expect(await list({ ...writing, "x-tenant": ids.tenant })).toEqual([{ text: "hello" }])
    const reasonOf = async (told: Promise<unknown>) => {
      const { code, info } = await failureOf(told)
      return [code, info?.reason, info?.metadata]
    }
    const scopeless = token({ tenant_id: ids.tenant })
    expect(await reasonOf(call("CreateNote", mine, scopeless))).toEqual([
      "PERMISSION_DENIED",
      "MISSING_SCOPE",
      { scope: "notes.write" },
    ])
    const elsewhere = { ...mine, tenantId: ids.app }
    expect(await reasonOf(call("CreateNote", elsewhere, writing))).toEqual(["PERMISSION_DENIED", "TENANT_MISMATCH", {}])
    expect(await reasonOf(list({ ...writing, "x-tenant": "" }))).toEqual(["PERMISSION_DENIED", "TENANT_MISMATCH", {}])
    expect(await reasonOf(list(writing))).toEqual(["PERMISSION_DENIED", "TENANT_MISMATCH", {}])
    expect(await reasonOf(list({ "x-tenant": ids.tenant }))).toEqual(["UNAUTHENTICATED", "NO_CREDENTIAL", {}])
  })

  test("without the issuer's keys knows nobody, and blames no key", async () => {
    const keyless = start("serve", "NotesService")
    keyless.stdin?.write(`${JSON.stringify({ ...settings(), jwksUrl: `${settings().jwksUrl}/none` })}\n`)
    const other = new Client(`127.0.0.1:${await firstLine(keyless)}`, credentials.createInsecure())
    try {
      for (const _ of [1, 2, 3]) {
        const told = call("Whoami", {}, { authorization: `Bearer ${issuer.token()}` }, other)
        expect(await failureOf(told)).toMatchObject({ code: "UNAVAILABLE", info: { reason: "UNAVAILABLE" } })
      }
    } finally {
      other.close()
      keyless.stdin?.end()
    }
  })

  test.each(
    sample(1, [
      ["a method says nothing", "ForgetfulService", "ForgetfulService.Forget"],
      ["a requirement names a field that there is not", "MistakenService", "MistakenService.Mistake"],
    ] as const),
  )("does not start when %s", (_, name, named) => {
    const [command, ...before] = program.command
    const run = () =>
      execFileSync(command, [...before, "serve", name], { input: JSON.stringify(settings()), stdio: "pipe" })
    expect(run).toThrow(named)
  })

  const golden = goldenVectors()
  test.each(
    sample(1, [
      [`${golden.length} golden vectors as every target does`, golden],
      [`${vectors.length} combinations as the kernel does`, vectors],
    ] as const),
  )("decides %s", (_, cases) => {
    const [command, ...before] = program.command
    const input = JSON.stringify(cases.map(({ asked }) => asked))
    const decided: unknown = JSON.parse(execFileSync(command, [...before, "decide"], { input, encoding: "utf8" }))
    const named = (all: unknown) => cases.map(({ name }, i) => [name, Array.isArray(all) ? all[i] : undefined])
    expect(named(decided)).toEqual(named(cases.map((one) => one.decided)))
    // Allowed, and each of five reasons.
    expect(new Set(cases.map((one) => one.decided.reason)).size).toBe(6)
  })

  const tls = makeCertificate()
  if (tls === undefined) test.skip("calls us over TLS: no openssl", () => {})
  const ways = [["HTTP/2 without TLS", undefined] as const, ...(tls === undefined ? [] : [["TLS", tls] as const])]
  test.each(sample(1, ways))(
    "calls us over %s, reads why it is refused, and follows a stream to its end",
    async (_, certificate) => {
      const server = await startTestServer({ store: storyStore, ...(certificate && { tls: certificate }) })
      try {
        const nodeOptions = certificate === undefined ? {} : { ca: certificate.cert }
        const baseUrl = server.url.replace("127.0.0.1", "localhost")
        const { auth } = clientsOver(createGrpcTransport({ baseUrl, nodeOptions }))
        const { accessToken, principal } = await auth.externalLogin(await server.login("polyglot"))
        const other = await auth.externalLogin(await server.login("gone"))
        await auth.logout({}, bearer(other.accessToken))
        const calling = start("call")
        const target = `localhost:${server.port}`
        const crowded = await serveLargeDetails()
        const ca = certificate?.cert ?? ""
        const given = { target, token: accessToken, otherToken: other.accessToken, ca, crowded: crowded.target }
        calling.stdin?.end(`${JSON.stringify(given)}\n`)
        const lines = createInterface({ input: calling.stdout })[Symbol.asyncIterator]()
        expect((await lines.next()).value).toBe('"watching"')
        await server.close()
        crowded.close()
        expect(JSON.parse((await lines.next()).value ?? "")).toEqual({
          principal: principal?.id,
          anonymous: ["Unauthenticated", "signet", "NO_CREDENTIAL", refusals.NO_CREDENTIAL.status],
          other: ["Unauthenticated", "signet", "SESSION_REVOKED", refusals.SESSION_REVOKED.status],
          crowded: ["Aborted", "signet", "COMMIT_CONFLICT"],
          health: ["SERVING", "NOT_SERVING"],
          ended: "OK",
        })
      } finally {
        await server.close().catch(() => undefined)
      }
    },
  )
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("nothing to read")
  for await (const line of createInterface({ input: child.stdout })) return line
  throw new Error("the program ended")
}

function readService(): DescService {
  const workspace = makeWorkspace()
  try {
    runBuf(workspace, "build", "-o", "set.binpb")
    const set = fromBinary(FileDescriptorSetSchema, readFileSync(join(workspace, "set.binpb")))
    const service = createFileRegistry(set).getService("signet.example.notes.v1.NotesService")
    if (service === undefined) throw new Error("no service")
    return service
  } finally {
    rmSync(workspace, { recursive: true, force: true })
  }
}
