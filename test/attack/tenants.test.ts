// A tenant's service that owns an audience of the whole app learns nothing about other tenants, and ends nothing there.
import { newId } from "@signet/kernel/ids"
import { afterAll, beforeAll, expect, test } from "vitest"
import { addMachine, basic, type Machine, postForm } from "../support/machines.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const tenant = (byte: number) => newId("ten", 1, new Uint8Array(10).fill(byte))
let server: TestServer
let spy: Machine
beforeAll(async () => {
  server = await startTestServer({ store: storyStore })
  const of = { tenantId: tenant(1), ownedAudiences: ["svc-notes"], scopes: ["notes.read", "auth.introspect"] }
  spy = await addMachine(server, of)
})
afterAll(() => server.close())

const post = (path: string, form: Record<string, string>, by: Machine) =>
  postForm(`${server.url}/auth/${path}`, form, basic(by))
const tokenOf = async (machine: Machine) =>
  String((await post("token", { grant_type: "client_credentials", audience: "svc-notes" }, machine)).body.access_token)

test.each<[string, number | null, boolean]>([
  ["its own tenant", 1, true],
  ["another tenant", 2, false],
  ["no tenant", null, false],
])("a token of %s", async (_, byte, isItsOwn) => {
  const token = await tokenOf(await addMachine(server, { tenantId: byte === null ? null : tenant(byte) }))
  const asked = await post("token/introspect", { token }, spy)
  expect(asked.body.active).toBe(isItsOwn)
  if (!isItsOwn) expect(asked.body).toEqual({ active: false })

  const ended = await post("token/revoke", { token }, spy)
  expect([ended.status, ended.body.reason]).toEqual(isItsOwn ? [200, undefined] : [400, "CLIENT_NOT_ALLOWED"])
})
