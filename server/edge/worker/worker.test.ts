// The deployed Worker on the real runtime, before any sign-in.
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import { type Bundle, buildWorker } from "../node/build.ts"
import { startWorkerd, type Workerd } from "../node/workerd.ts"

const secret = Buffer.alloc(32, 7).toString("base64")
const texts = {
  SIGNET_PROFILE: "development",
  // No server listens there.
  SIGNET_ISSUER: "http://127.0.0.1:9",
  SIGNET_ROOT_KEY: secret,
  SIGNET_CLIENT_ID: "sva_1",
  SIGNET_CLIENT_SECRET: "a secret of ours",
  SIGNET_RECEIPT_KEY: secret,
  SIGNET_SEALING_KEY: secret,
  SIGNET_PEPPERS: `1:${secret}`,
}
let bundle: Bundle
let worker: Workerd
const lines: string[] = []
beforeAll(async () => {
  bundle = await buildWorker()
  worker = await startWorkerd({ code: bundle.code, texts, onLine: (line) => lines.push(line) })
})
afterAll(() => worker?.kill())

async function ask(url: string, path: string, headers: Record<string, string> = {}) {
  const answer = await fetch(`${url}${path}`, { headers })
  const text = await answer.text()
  return { status: answer.status, text }
}

test("the Worker starts without an auth service, and is not ready", async () => {
  expect(await ask(worker.url, "/livez")).toMatchObject({ status: 200 })
  expect(await ask(worker.url, "/readyz")).toMatchObject({ status: 503 })
  expect(await ask(worker.url, "/security/limits")).toMatchObject({ status: 200 })
  expect(await ask(worker.url, "/security/issuer-keys")).toMatchObject({ status: 503 })
})

test("calls without a token, and with one that cannot be verified, are refused", async () => {
  expect(await ask(worker.url, "/security/devices")).toMatchObject({ status: 401 })
  const part = (json: object) => Buffer.from(JSON.stringify(json)).toString("base64url")
  const token = `${part({ alg: "ES256", typ: "at+jwt", kid: "x" })}.${part({})}.${"A".repeat(86)}`
  const refused = await ask(worker.url, "/security/devices", { authorization: `Bearer ${token}` })
  expect(refused.status).toBe(503)
  expect(refused.text).toContain("UNAVAILABLE")
  expect(lines.join()).not.toContain(token)
})

test("its objects and their feed have no public address", async () => {
  for (const path of ["/stream", "/auth/revocations?after=0&wait=0", "/auth/revocations/snapshot?after=0"]) {
    expect(await ask(worker.url, path)).toMatchObject({ status: 404 })
  }
})

test.runIf(isLong)("without a required setting it answers no call, and its log names only that setting", async () => {
  const said: string[] = []
  const { SIGNET_RECEIPT_KEY: _, ...rest } = texts
  const lacking = await startWorkerd({ code: bundle.code, texts: rest, onLine: (line) => said.push(line) })
  onTestFinished(() => lacking.kill())
  for (const path of ["/livez", "/readyz", "/security/limits", "/security/devices"]) {
    expect(await ask(lacking.url, path)).toMatchObject({ status: 503 })
  }
  await expect.poll(() => said.join("\n")).toContain("SIGNET_RECEIPT_KEY is missing.")
  for (const value of [secret, texts.SIGNET_CLIENT_SECRET]) expect([...said, ...lines].join()).not.toContain(value)
})
