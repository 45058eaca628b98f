// Whether the time of a refusal tells which clients there are.
import { randomBytes } from "node:crypto"
import { Agent, request } from "node:http"
import { newId } from "@signet/kernel/ids"
import { defaultLimits, type Limits } from "@signet/kernel/limits/policy"
import { buildOpaque } from "@signet/kernel/token/opaque"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { effort } from "../support/effort.ts"
import { addMachine, assertion, type Machine } from "../support/machines.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

/** Rounds, each of a known client and two unknown ones in random order. Times are compared at night alone: other tests run by day. */
const samples = effort(30, 300, 10_000)
/** Known and unknown clients may differ by this, in microseconds: a fifth of what a look-up of its facts costs. */
const tolerance = 20

vi.setConfig({ testTimeout: effort(60_000, 120_000, 7_200_000) })

let server: TestServer
let known: Machine
let stranger: Machine
/** Nothing is locked in this test: a lock answers before anybody looks for the client. */
const limits: Limits = JSON.parse(
  JSON.stringify(defaultLimits, (name, value) => (name === "limit" || name === "failures" ? value * 1_000_000 : value)),
)
beforeAll(async () => {
  server = await startTestServer({ store: storyStore, limits })
  known = await addMachine(server)
  stranger = await addMachine(server)
  // Neighbors on both sides: an installation has more than one client.
  for (let i = 0; i < 5; i++) await addMachine(server)
})
afterAll(() => server?.close())

const agent = new Agent({ keepAlive: true, maxSockets: 1 })
afterAll(() => agent.destroy())

/** Microseconds until the whole answer is here, and its status. */
function timed(path: string, form: Record<string, string>): Promise<{ us: number; status: number | undefined }> {
  const body = new URLSearchParams(form).toString()
  const headers = { "content-type": "application/x-www-form-urlencoded", "content-length": Buffer.byteLength(body) }
  return new Promise((resolve, reject) => {
    const from = process.hrtime.bigint()
    const asked = request(`${server.url}${path}`, { method: "POST", headers, agent }, (answer) => {
      answer.resume()
      answer.on("end", () => resolve({ us: Number(process.hrtime.bigint() - from) / 1_000, status: answer.statusCode }))
    })
    asked.on("error", reject)
    asked.end(body)
  })
}

const random = { bytes: (length: number) => new Uint8Array(randomBytes(length)) }
const unknownId = () => newId("sac", Date.now(), random.bytes(10))
const wrong = () => buildOpaque("sgsec_", random)
const quantile = (sorted: readonly number[], at: number) => sorted[Math.floor(sorted.length * at)] ?? Number.NaN

/** Each call is made by a known client and by two unknown ones: what the unknown ones differ by is noise. */
const kinds = ["known", "unknown", "unknown too"] as const
type Kind = (typeof kinds)[number]

const bySecret = (id: string) => ({ client_id: id, client_secret: wrong() })
const byAssertion = (id: string) =>
  assertion({ ...known, account: { ...known.account, clientId: id } }, { key: stranger.privateKey })

test.each<[string, string, (id: string) => Record<string, string>]>([
  ["introspection by a secret", "/auth/token/introspect", (id) => ({ token: "x", ...bySecret(id) })],
  [
    "the token endpoint by a secret",
    "/auth/token",
    (id) => ({ grant_type: "client_credentials", audience: "svc-notes", ...bySecret(id) }),
  ],
  [
    "the token endpoint by an assertion",
    "/auth/token",
    (id) => ({ grant_type: "client_credentials", audience: "svc-notes", ...byAssertion(id) }),
  ],
  ["revocation by a secret", "/auth/token/revoke", (id) => ({ token: `sgpat_${"A".repeat(50)}`, ...bySecret(id) })],
])("%s takes as long for a client that exists as for one that does not", async (name, path, formOf) => {
  // Asked again and again, as the known one is: the first failure of an id costs more than the next.
  const ids = { known: known.account.clientId, unknown: unknownId(), "unknown too": unknownId() }
  const times: Record<Kind, number[]> = { known: [], unknown: [], "unknown too": [] }
  for (let i = 0; i < samples; i++) {
    // Another order each time: whoever comes after a slow answer is not always the same.
    for (const kind of kinds.toSorted(() => Math.random() - 0.5)) {
      const { us, status } = await timed(path, formOf(ids[kind]))
      expect(status).toBe(401)
      times[kind].push(us)
    }
  }
  const sorted = kinds.map((kind) => times[kind].slice(Math.floor(samples / 50)).toSorted((a, b) => a - b))
  const [ofKnown = [], ofUnknown = [], ofOthers = []] = sorted
  // The fast answers: the slow ones show what else the machine does.
  const found = [0.02, 0.05, 0.1, 0.25].map((at) => {
    const [a, b, c] = [quantile(ofKnown, at), quantile(ofUnknown, at), quantile(ofOthers, at)]
    return { at, known: a, unknown: b, difference: a - (b + c) / 2, noise: Math.abs(b - c) }
  })
  if (samples < 10_000) return
  console.log(name, JSON.stringify(found))
  for (const { at, difference, noise } of found) {
    expect(Math.abs(difference), `at the quantile ${at}`).toBeLessThan(Math.max(tolerance, 3 * noise))
  }
})
