// The program that `npm run edge:gateway` starts.
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { Health, HealthCheckResponse_ServingStatus as Status } from "@signet/proto/grpc/health/v1/health"
import { afterEach, expect, test } from "vitest"
import { isLong } from "../../../../test/support/effort.ts"
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

test.runIf(isLong)("prints its address, carries gRPC, and stops on a signal", async () => {
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

test("prints its usage without a target", async () => {
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
  ["a target that is no URL", ["--to", "messages.example"]],
  ["a target of another protocol", ["--to", "ftp://messages.example"]],
  ["an invalid port", ["--to", "http://a", "--listen", "99999"]],
  ["a certificate without its key", ["--to", "http://a", "--tls-cert", main]],
  ["a missing key file", ["--to", "http://a", "--tls-cert", main, "--tls-key", "/nowhere"]],
  ["an unknown option", ["--to", "http://a", "--port", "1"]],
])("%s is refused", (_, args) => {
  expect(settingsOf(args)).toBeUndefined()
})

test("listens on loopback by default", () => {
  expect(settingsOf(["--to", "http://a"])).toMatchObject({ host: "127.0.0.1", port: 8_090, tls: undefined })
  expect(settingsOf(["--to", "http://a", "--listen", "[::]:1"])).toMatchObject({ host: "::", port: 1 })
  expect(settingsOf(["--to", "http://a", "--header", "X-Tenant"])?.moreHeaders).toEqual(["x-tenant"])
})

function fail(): never {
  throw new Error("no output")
}
