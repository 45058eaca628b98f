// Compares the response times of refusals for known and for unknown clients.
import { randomBytes } from "node:crypto"
import { Agent, request } from "node:http"
import { newId } from "@signet/kernel/ids"
import { defaultLimits, type Limits } from "@signet/kernel/limits/policy"
import { buildOpaque } from "@signet/kernel/token/opaque"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { effort, sample } from "../support/effort.ts"
import { addMachine, assertion, type Machine } from "../support/machines.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

/**
 * Number of rounds. Each calls one known and two unknown clients in random order. Only nightly runs compare the times,
 * because other tests run at the same time during the day.
 */
const samples = effort(30, 300, 10_000)
/** Microseconds by which known and unknown clients may differ: a fifth of the cost of looking up a client's facts. */
const tolerance = 20

vi.setConfig({ testTimeout: effort(180_000, 180_000, 7_200_000) })

let server: TestServer
let known: Machine
let stranger: Machine
/** Limits that no call reaches: a lock would answer before the client is looked up. */
const limits: Limits = JSON.parse(
  JSON.stringify(defaultLimits, (name, value) => (name === "limit" || name === "failures" ? value * 1_000_000 : value)),
)
beforeAll(async () => {
  server = await startTestServer({ store: storyStore, limits })
  known = await addMachine(server)
  stranger = await addMachine(server)
  // Adds more clients, so that the known one has neighbors in the index.
  for (let i = 0; i < 5; i++) await addMachine(server)
})
afterAll(() => server?.close())

const agent = new Agent({ keepAlive: true, maxSockets: 1 })
afterAll(() => agent.destroy())

/** Measures the microseconds until the whole answer has arrived. */
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

/** Each round calls a known client and two unknown ones. The difference between the unknown ones is the noise. */
const kinds = ["known", "unknown", "unknown too"] as const
type Kind = (typeof kinds)[number]

const bySecret = (id: string) => ({ client_id: id, client_secret: wrong() })
const byAssertion = (id: string) =>
  assertion({ ...known, account: { ...known.account, clientId: id } }, { key: stranger.privateKey })

test.each(
  sample<[string, string, (id: string) => Record<string, string>]>(1, [
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
  ]),
)("%s takes the same time for an existing client and for a missing one", async (name, path, formOf) => {
  // The ids stay the same, because the first failure of an id costs more than the next ones.
  const ids = { known: known.account.clientId, unknown: unknownId(), "unknown too": unknownId() }
  const times: Record<Kind, number[]> = { known: [], unknown: [], "unknown too": [] }
  for (let i = 0; i < samples; i++) {
    // The order is random, so that no kind always follows a slow answer.
    for (const kind of kinds.toSorted(() => Math.random() - 0.5)) {
      const { us, status } = await timed(path, formOf(ids[kind]))
      expect(status).toBe(401)
      times[kind].push(us)
    }
  }
  const sorted = kinds.map((kind) => times[kind].slice(Math.floor(samples / 50)).toSorted((a, b) => a - b))
  const [ofKnown = [], ofUnknown = [], ofOthers = []] = sorted
  // Compares the fast quantiles, since slow answers show other load of the machine.
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
