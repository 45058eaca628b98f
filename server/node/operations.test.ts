// The operators' view: health, reflection, probes, documents, metrics, spans and logs.
import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { promisify } from "node:util"
import { create, createFileRegistry, fromBinary } from "@bufbuild/protobuf"
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError, createClient } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node"
import { InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { Platform, Provider } from "@signet/proto/auth/v1/records"
import { Health, HealthCheckResponse_ServingStatus as Status } from "@signet/proto/grpc/health/v1/health"
import { ServerReflection } from "@signet/proto/grpc/reflection/v1/reflection"
import { Counter, Histogram } from "prom-client"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { sample } from "../../test/support/effort.ts"
import { createAdmin } from "./admin.ts"
import { callLog } from "./call-log.ts"
import { addDocs } from "./docs.ts"
import { createLog, fields } from "./log.ts"
import { createMetrics, type Metrics } from "./metrics.ts"
import { addProbes } from "./probes.ts"
import { startTransports, type TransportServer } from "./testing/transport-server.ts"
import { services } from "./testing/under-test.ts"
import { startTracing, traced } from "./tracing.ts"

const spans = new InMemorySpanExporter()
const tracing = startTracing({ processor: new SimpleSpanProcessor({ exporter: spans }) })
const metrics = createMetrics()

async function measured(of: Metrics, name: string, labels: Record<string, string>): Promise<number | undefined> {
  const { values = [] } = (await of.registry.getSingleMetric(name)?.get()) ?? {}
  const wanted = Object.entries(labels)
  return values.find((each) => wanted.every(([label, value]) => Reflect.get(each.labels, label) === value))?.value
}

const lines: string[] = []
const log = createLog("info", (line) => void lines.push(line))
let server: TransportServer
let isReady = true
let areComplete = true
beforeAll(async () => {
  server = await startTransports({
    more: [traced(tracing.tracer), metrics.interceptor, callLog(log)],
    reflected: [...services, Health],
    async add(app) {
      const checks = { database: async () => isReady, schema: async () => true }
      addProbes(app, checks, { workers: () => areComplete })
      await addDocs(app)
    },
  })
})
afterAll(async () => {
  await server.app.close()
  await tracing.stop()
})

describe("health", () => {
  const client = () => createClient(Health, createGrpcTransport({ baseUrl: server.url }))
  test("is reported for the server and each service", async () => {
    expect((await client().check({})).status).toBe(Status.SERVING)
    const { statuses } = await client().list({})
    expect(Object.keys(statuses)).toEqual(["", ...services.map(({ typeName }) => typeName)])
  })
  test("of an unknown service is not found", async () => {
    const error = await client().check({ service: "nope" }).catch(ConnectError.from)
    expect(error).toMatchObject({ code: Code.NotFound })
  })
  test("of an unknown service can be watched", async () => {
    for await (const { status } of client().watch({ service: "nope" })) {
      expect(status).toBe(Status.SERVICE_UNKNOWN)
      break
    }
  })
})

describe("reflection", () => {
  const client = () => createClient(ServerReflection, createGrpcTransport({ baseUrl: server.url }))
  const ask = async (...symbols: string[]) => {
    const answers = []
    const requests = (async function* () {
      for (const value of symbols) yield { messageRequest: { case: "fileContainingSymbol" as const, value } }
    })()
    for await (const { messageResponse } of client().serverReflectionInfo(requests)) answers.push(messageResponse)
    return answers
  }

  test("returns files from which the service can be rebuilt", async () => {
    const [answer] = await ask("signet.auth.v1.AuthService.Refresh")
    if (answer?.case !== "fileDescriptorResponse") throw new Error("no file")
    const files = answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes))
    const sorted = new Set<FileDescriptorProto>()
    const add = (file: FileDescriptorProto | undefined) => {
      if (file === undefined) throw new Error("an import is missing")
      for (const name of file.dependency) add(files.find((each) => each.name === name))
      sorted.add(file)
    }
    add(files[0])
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [...sorted] }))
    expect(registry.getService("signet.auth.v1.AuthService")?.methods.map(({ name }) => name)).toContain("Refresh")
  })

  test("returns an error for unknown symbols", async () => {
    const answers = await ask("signet.auth.v1.Nope", "signet.auth.v1.AuthService.Nope", "")
    expect(answers.map(({ case: is }) => is)).toEqual(["errorResponse", "errorResponse", "errorResponse"])
  })

  test.each(sample(1, ["grpc-v1", "grpc-v1alpha"]))("serves %s to a tool without the contract", async (version) => {
    const { stdout } = await promisify(execFile)("npx", [
      "buf",
      "curl",
      "--http2-prior-knowledge",
      "--protocol=grpc",
      `--reflect-protocol=${version}`,
      "--data",
      "{}",
      `${server.url}/signet.auth.v1.TokenService/GetJwks`,
    ])
    expect(JSON.parse(stdout)).toEqual({ keys: [{ kty: "EC", kid: "k1" }] })
  })
})

describe("probes", () => {
  test("distinguish liveness and readiness", async () => {
    const statusOf = async (path: string) => (await fetch(server.url + path)).status
    expect([await statusOf("/livez"), await statusOf("/readyz")]).toEqual([200, 200])
    isReady = false
    expect([await statusOf("/livez"), await statusOf("/readyz")]).toEqual([200, 503])
    const answer = await (await fetch(`${server.url}/readyz`)).json()
    expect(answer).toEqual({ status: "not ready", missing: ["database"] })
    isReady = true
  })

  test("name incomplete parts of a server that is ready", async () => {
    const answer = async () => {
      const response = await fetch(`${server.url}/readyz`)
      return [response.status, await response.json()]
    }
    expect(await answer()).toEqual([200, { status: "ready" }])
    areComplete = false
    expect(await answer()).toEqual([200, { status: "ready", degraded: ["workers"] }])
    areComplete = true
  })
})

describe("the documents", () => {
  test("are the OpenAPI document and a page that loads nothing from elsewhere", async () => {
    const document = await (await fetch(`${server.url}/openapi.json`)).json()
    expect(document).toMatchObject({ openapi: "3.1.0", paths: { "/auth/login/idp-a": { post: {} } } })
    const page = await fetch(`${server.url}/docs`)
    expect([page.status, page.url]).toEqual([200, `${server.url}/docs/`])
    expect(page.headers.get("content-security-policy")).toContain("connect-src 'self'")
    const html = await page.text()
    expect(html).toContain("/openapi.json")
    expect([...html.matchAll(/(?:src|href)="(https?:[^"]+)"/g)]).toEqual([])
    const script = await fetch(`${server.url}/docs/js/scalar.js`)
    expect([script.status, (await script.text()).length > 1_000_000]).toEqual([200, true])
  })
})

describe("a call", () => {
  const call = (refreshToken: string, headers: Record<string, string> = {}) =>
    createClient(AuthService, createConnectTransport({ baseUrl: server.url, httpVersion: "1.1" }))
      .logout({ refreshToken }, { headers })
      .catch(ConnectError.from)

  test("is a span below its caller's", async () => {
    spans.reset()
    const [traceId, parent] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"]
    await call("x", { traceparent: `00-${traceId}-${parent}-01` })
    const [span] = spans.getFinishedSpans()
    expect(span?.name).toBe("signet.auth.v1.AuthService/Logout")
    expect(span?.spanContext().traceId).toBe(traceId)
    expect(span?.parentSpanContext?.spanId).toBe(parent)
    expect(span?.attributes["signet.reason"]).toBe("OK")
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ traceId, rpc: "signet.auth.v1.AuthService/Logout" })
  })

  test("over REST is the same span", async () => {
    spans.reset()
    await fetch(`${server.url}/auth/session/logout`, { method: "POST" })
    expect(spans.getFinishedSpans().map(({ name }) => name)).toEqual(["signet.auth.v1.AuthService/Logout"])
  })

  test("that fails is recorded in span, metrics and log without its secrets", async () => {
    spans.reset()
    lines.splice(0)
    await call("fault")
    const counted = await metrics.registry.metrics()
    expect(counted).toContain(`signet_faults_total{service="signet.auth.v1.AuthService",method="Logout"} 1`)
    const [span] = spans.getFinishedSpans()
    expect(span?.status.code).toBe(2)
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ level: "error", outcome: "INTERNAL" })
    const told = lines.join("") + JSON.stringify(span?.attributes) + JSON.stringify(span?.events) + counted
    expect(told).not.toContain("secret")
  })

  test("that signs in is counted by provider and outcome, and a refusal by its reason", async () => {
    const auth = createClient(AuthService, createConnectTransport({ baseUrl: server.url, httpVersion: "1.1" }))
    const login = { appId: "app_00000000000000000000000000", platform: Platform.WEB }
    const credential = { case: "idToken", value: "a.b.c" } as const
    await auth.externalLogin({ ...login, provider: Provider.IDP_B, credential })
    expect(await measured(metrics, "signet_sign_ins_total", { provider: "IDP_B", outcome: "OK" })).toBe(1)
    await auth.externalLogin({ ...login, appId: "none", provider: Provider.IDP_A, credential }).catch(() => {})
    const refused = { provider: "IDP_A", outcome: "INVALID_FIELD" }
    expect(await measured(metrics, "signet_sign_ins_total", refused)).toBe(1)
    expect(await measured(metrics, "signet_refusals_total", { reason: "INVALID_FIELD" })).toBeGreaterThan(0)
  })

  test("that streams is one span as long as the stream", async () => {
    spans.reset()
    const leave = new AbortController()
    const client = createClient(Health, createGrpcTransport({ baseUrl: server.url }))
    const messages = client.watch({}, { signal: leave.signal })[Symbol.asyncIterator]()
    const open = () => measured(metrics, "signet_streams_open", { service: Health.typeName, method: "Watch" })
    // Another test's client may have left a stream that its server has not noticed yet.
    const others = (await open()) ?? 0
    await messages.next()
    expect(spans.getFinishedSpans()).toEqual([])
    expect(await open()).toBe(others + 1)
    leave.abort()
    await expect(messages.next()).rejects.toMatchObject({ code: Code.Canceled })
    await expect.poll(() => spans.getFinishedSpans().map(({ name }) => name)).toEqual(["grpc.health.v1.Health/Watch"])
    await expect.poll(open).toBe(others)
  })
})

describe("the metrics", () => {
  const metrics = createMetrics()
  const measuredAt = async (name: string, labels: Record<string, string>) => measured(metrics, name, labels)

  test("are those of docs/reference/operations.md, each by its name, its type and its labels", async () => {
    const page = await readFile(new URL("../../docs/reference/operations.md", import.meta.url), "utf8")
    const documented = [...page.matchAll(/^\| `(signet_\w+)` \| (\w+) \| ([\w, –]+) \|/gm)].map(
      ([, name, type, labels]) => `${name} ${type} ${labels}`,
    )
    const registered = (await metrics.registry.getMetricsAsArray())
      .filter(({ name }) => !/^(process|nodejs)_/.test(name))
      .map((metric) => {
        const { labelNames = [] } = metric as unknown as { labelNames?: readonly string[] }
        const labels = labelNames.filter((label) => label !== "le").join(", ") || "–"
        return `${metric.name} ${metric instanceof Histogram ? "histogram" : metric instanceof Counter ? "counter" : "gauge"} ${labels}`
      })
    expect(documented.toSorted()).toEqual(registered.toSorted())
  })

  test("count refusals of limits and locks", async () => {
    metrics.onLimited("refresh.ip", "window")
    metrics.onLimited("email", "lockout")
    expect(await measuredAt("signet_limit_refusals_total", { limit: "refresh.ip", by: "window" })).toBe(1)
    expect(await measuredAt("signet_limit_refusals_total", { limit: "email", by: "lockout" })).toBe(1)
  })

  test("time sweeps, count deleted rows, and record the last success", async () => {
    const last = "signet_sweep_last_success_timestamp_seconds"
    const fault = new Error("no database")
    await expect(metrics.swept("accounts", () => Promise.reject(fault))()).rejects.toBe(fault)
    expect(await measuredAt(last, { sweep: "accounts" })).toBeUndefined()
    await metrics.swept("accounts", async () => ({ sessions: 3, pats: 0 }))()
    expect(await measuredAt("signet_swept_rows_total", { sweep: "accounts", kind: "sessions" })).toBe(3)
    expect(await measuredAt(last, { sweep: "accounts" })).toBeGreaterThan(1_700_000_000)
    const durations = { sweep: "accounts", outcome: "FAULT" }
    expect(await measuredAt("signet_sweep_duration_seconds", durations)).toBeDefined()
  })

  test("read the pool and the feed at each scrape", async () => {
    let [waiting, lagMs] = [0, undefined as number | undefined]
    metrics.watch({ connections: () => ({ total: 5, idle: 2, waiting }), feedLagMs: () => lagMs })
    expect(await measuredAt("signet_database_connections", { state: "in_use" })).toBe(3)
    waiting = 7
    lagMs = 1_500
    expect(await measuredAt("signet_database_waiting", {})).toBe(7)
    expect(await measuredAt("signet_revocation_feed_lag_seconds", {})).toBe(1.5)
  })
})

test("the administration server has the metrics", async () => {
  const admin = createAdmin(() => metrics.registry.metrics(), metrics.registry.contentType)
  const answer = await admin.inject("/metrics")
  expect(answer.headers["content-type"]).toContain("text/plain")
  expect(answer.body).toContain("signet_rpc_duration_seconds_bucket")
  expect(answer.body).toContain("process_cpu_seconds_total")
  await admin.close()
})

describe("the log", () => {
  const said = (say: (log: ReturnType<typeof createLog>) => void): string => {
    const out: string[] = []
    say(createLog("trace", (line) => void out.push(line)))
    return out.join("")
  }
  const secret = "sgrt_Zm9vYmFy0123"
  test.each<[string, (log: ReturnType<typeof createLog>) => void]>([
    ["a field", (log) => log.info({ refreshToken: secret }, "call")],
    ["a known field", (log) => log.info({ err: secret, durationMs: secret, url: `http://a/?t=${secret}` }, "call")],
    ["an error's message", (log) => log.error(new Error(secret))],
    [
      "an error's message below err",
      (log) => log.error({ err: new Error(secret, { cause: new Error(secret) }) }, "fault"),
    ],
    [
      "an error's own fields",
      (log) => log.error({ err: Object.assign(new Error("x"), { detail: secret, code: secret }) }),
    ],
    ["the message", (log) => log.info(`token ${secret}`)],
    ["the arguments of a message", (log) => log.info({}, "token %s", secret)],
    ["a child's bindings", (log) => log.child({ token: secret, reqId: secret }).info("call")],
    ["a request", (log) => log.info({ req: { headers: { authorization: secret } }, res: { body: secret } })],
  ])("drops a secret in %s", (_, say) => {
    const out = said(say)
    expect(out).toMatch(/^\{"level"/)
    expect(out).not.toContain(secret)
  })

  test("has the fields of docs/reference/operations.md", async () => {
    const page = await readFile(new URL("../../docs/reference/operations.md", import.meta.url), "utf8")
    const section = /^## Logs\n(.*?)^## /ms.exec(page)?.[1] ?? ""
    const documented = [...section.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, names = ""]) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    )
    expect(documented.toSorted()).toEqual(["level", "time", "msg", ...Object.keys(fields)].toSorted())
  })

  test("contains known fields", () => {
    const out = JSON.parse(
      said((log) => log.error({ err: new TypeError("x"), rpc: "a.B/C", durationMs: 3 }, "a fault")),
    )
    expect(out).toMatchObject({
      level: "error",
      msg: "a fault",
      rpc: "a.B/C",
      durationMs: 3,
      err: { name: "TypeError" },
    })
    expect(out.err.at[0]).toContain("operations.test.ts")
  })
})
