// The program as npm run edge:gateway starts it.
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { Health, HealthCheckResponse_ServingStatus as Status } from "@signet/proto/grpc/health/v1/health"
import { afterEach, expect, test } from "vitest"
import { startTransports } from "../../../node/testing/transport-server.ts"
import { settingsOf } from "./config.ts"

const main = join(import.meta.dirname, "main.ts")
const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL")
})

function start(...args: string[]): ChildProcess {
  const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "pipe"], env: { PATH: "" } })
  children.push(child)
  return child
}

test("says where it is, carries gRPC, and stops when it is told", async () => {
  const server = await startTransports()
  const child = start("--to", server.url, "--listen", "0")
  const [line] = await once(child.stdout ?? fail(), "data")
  const { msg, url } = JSON.parse(String(line))
  expect(msg).toBe("ready")
  const { status } = await createClient(Health, createGrpcTransport({ baseUrl: url })).check({})
  expect(status).toBe(Status.SERVING)
  child.kill("SIGTERM")
  expect(await once(child, "exit")).toEqual([0, null])
  await server.app.close()
})

test("says how it is started when it is not told where to go", async () => {
  const child = start()
  let said = ""
  child.stderr?.on("data", (data) => {
    said += data
  })
  expect(await once(child, "close")).toEqual([2, null])
  expect(said).toContain("npm run edge:gateway")
})

test.each<[string, string[]]>([
  ["no target", ["--listen", "1"]],
  ["a target that is no address", ["--to", "messages.example"]],
  ["a target of another protocol", ["--to", "ftp://messages.example"]],
  ["a port that is none", ["--to", "http://a", "--listen", "99999"]],
  ["a certificate without its key", ["--to", "http://a", "--tls-cert", main]],
  ["a key that is not there", ["--to", "http://a", "--tls-cert", main, "--tls-key", "/nowhere"]],
  ["an option that does not exist", ["--to", "http://a", "--port", "1"]],
])("%s is refused", (_, args) => {
  expect(settingsOf(args)).toBeUndefined()
})

test("listens on loopback, or on what it is told", () => {
  expect(settingsOf(["--to", "http://a"])).toMatchObject({ host: "127.0.0.1", port: 8_090, tls: undefined })
  expect(settingsOf(["--to", "http://a", "--listen", "[::]:1"])).toMatchObject({ host: "::", port: 1 })
  expect(settingsOf(["--to", "http://a", "--header", "X-Tenant"])?.moreHeaders).toEqual(["x-tenant"])
})

function fail(): never {
  throw new Error("no output")
}
