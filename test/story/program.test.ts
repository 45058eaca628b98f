// The program as operators see it: refused settings, its output, and secrets that it never prints.

import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { app as anApp } from "@signet/kernel/testing/records"
import { ServerReflection } from "@signet/proto/grpc/reflection/v1/reflection"
import { afterAll, describe, expect, test } from "vitest"
import { developmentAppId } from "../../server/development/app-id.ts"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { lockFolder } from "../../server/store/postgres/pglite/folder-lock.ts"
import { createStore } from "../../server/store/postgres/store.ts"
import { testAuditLogDeps } from "../support/audit-log-deps.ts"
import { refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { startMetricsCollector } from "../support/metrics-collector.ts"
import { createTestDatabase, describeOnPostgres } from "../support/postgres.ts"
import { type Refusal, refusedProgram, startProgram } from "../support/program.ts"

const folder = mkdtempSync(join(fastTmpdir(), "signet-program-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const key = Buffer.alloc(32, 7).toString("base64")
const password = "correct-horse-battery"
const production = {
  SIGNET_PROFILE: "production",
  DATABASE_URL: `postgres://signet:${password}@localhost:1/signet`,
  SIGNET_ISSUER: "https://auth.example",
  SIGNET_SEALING_KEY: key,
  SIGNET_PEPPERS: `1:${key}`,
}

/** Expects messages for the operator only: no stack, no object, no secret. */
function expectPlain({ stdout, stderr }: Refusal): void {
  const lines = stderr.trimEnd().split("\n")
  for (const line of lines) expect(line).toMatch(/^[A-Za-z][^{}[\]]{10,200}$/)
  expect(lines.length).toBeLessThanOrEqual(3)
  for (const secret of [key, password, "c2hvcnQgc2VjcmV0"]) expect(stdout + stderr).not.toContain(secret)
}

async function* listServices() {
  yield { messageRequest: { case: "listServices" as const, value: "" } }
}

describe("settings", () => {
  test.concurrent.each<[string, Record<string, string>, RegExp]>([
    ["a public address without a profile", { HOST: "0.0.0.0" }, /^The production profile requires DATABASE_URL/],
    [
      "a database without the other required settings",
      { DATABASE_URL: production.DATABASE_URL },
      /^The production profile requires SIGNET_ISSUER\.\nThe production profile requires SIGNET_SEALING_KEY and SIGNET_PEPPERS\.$/m,
    ],
    [
      "a secret of the wrong length",
      { ...production, SIGNET_SEALING_KEY: "c2hvcnQgc2VjcmV0" },
      /^SIGNET_SEALING_KEY must be 32 bytes in base64\.$/m,
    ],
  ])("refuse %s, in plain sentences and with 2", async (_, settings, sentence) => {
    const refused = await refusedProgram({ PORT: "0", SIGNET_DATA: folder, ...settings })
    expect(refused.code).toBe(2)
    expect(refused.stdout).toBe("")
    expect(refused.stderr).toMatch(sentence)
    expectPlain(refused)
  })
})

describe("a failing start", () => {
  test.runIf(isLong)("without a database prints the cause without the password", async () => {
    const refused = await refusedProgram({ ...production, PORT: "0" })
    expect(refused.code).toBe(1)
    expectPlain(refused)
    expect(refused.stderr).toContain("ECONNREFUSED")
  })

  test.runIf(isLong)("because another process uses the folder names it in one sentence", async () => {
    const release = lockFolder(join(folder, "pglite"))
    const refused = await refusedProgram({ PORT: "0", SIGNET_DATA: folder })
    release()
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(
      new RegExp(`^the database folder ${join(folder, "pglite")} is in use by process ${process.pid} on \\S+\n$`),
    )
  })
})

describeOnPostgres("production", () => {
  test.runIf(isLong)("has no stand-in provider, no reflection and no seeded app, and exits with 0", async () => {
    const database = await createTestDatabase()
    const collector = await startMetricsCollector()
    const program = await startProgram({
      ...{ ...production, DATABASE_URL: database.url, PORT: "0" },
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: collector.endpoint,
    })
    const statusOf = async (path: string, method = "GET") => (await fetch(program.url + path, { method })).status
    expect(await statusOf("/readyz")).toBe(200)
    expect(await statusOf("/dev/idp-a/login-request", "POST")).toBe(404)
    expect(await statusOf("/dev/idp-a/.well-known/openid-configuration")).toBe(404)
    expect(await statusOf("/dev/idp-b/login-request", "POST")).toBe(404)
    expect(await statusOf("/dev/idp-b/auth/keys")).toBe(404)
    expect(await statusOf("/dev/messaging-backend", "POST")).toBe(404)
    const reflection = createClient(ServerReflection, createGrpcTransport({ baseUrl: program.url }))
    const asked = async () => {
      for await (const _ of reflection.serverReflectionInfo(listServices())) return
    }
    expect(await refusal(asked())).toMatch(/^Unimplemented/)
    const { db, close } = openPostgres(database.url, { maxConnections: 1 })
    expect(await db.selectFrom("app").selectAll().execute()).toEqual([])
    const readiness = async () => (await fetch(`${program.url}/readyz`)).json()
    const applied = await db
      .deleteFrom("migration_checksum")
      .where("name", "=", "0001_identity")
      .returningAll()
      .execute()
    expect(await readiness()).toEqual({ status: "not ready", missing: ["schema"] })
    await db.insertInto("migration_checksum").values(applied).execute()
    expect(await readiness()).toEqual({ status: "ready" })
    await close()
    await fetch(`${program.url}/.well-known/jwks.json`)
    expect(await program.end("SIGTERM")).toBe(0)
    // A server sends its metrics once a minute, and when it ends.
    expect(collector.last("signet_rpc_duration_seconds", { method: "GetJwks", outcome: "OK" })).toBe(1)
    expect(collector.last("signet_workers")).toBe(1)
    await collector.stop()
    for (const secret of [key, password]) expect(program.output()).not.toContain(secret)
    expect(program.output()).not.toContain("development")
    await database.drop()
  })

  test.runIf(isLong)("does not start on a database that the development profile has used", async () => {
    const database = await createTestDatabase()
    const { db, close } = openPostgres(database.url, { maxConnections: 1 })
    await createStore(db, { audit: testAuditLogDeps() }).transaction((tx) =>
      tx.apps.putApp({ ...anApp, id: developmentAppId }),
    )
    await close()
    const refused = await refusedProgram({ ...production, DATABASE_URL: database.url, PORT: "0" })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/^the database holds the development profile's app/m)
    await database.drop()
  })

  test.runIf(isLong)("reports that its port is in use", async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve))
    const address = taken.address()
    const port = typeof address === "object" && address !== null ? String(address.port) : ""
    const database = await createTestDatabase()
    const refused = await refusedProgram({ ...production, DATABASE_URL: database.url, PORT: port })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain(`address already in use 127.0.0.1:${port}`)
    await new Promise((resolve) => taken.close(resolve))
    await database.drop()
  })
})
