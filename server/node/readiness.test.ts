// Each condition of /readyz, seen missing. Programs are in test/story/program.test.ts, and their workers in
// test/story/workers.test.ts.
import { once } from "node:events"
import { Agent, get } from "node:http"
import { json } from "node:stream/consumers"
import { afterEach, beforeEach, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../test/support/postgres.ts"
import { createKeyRing, type RunningKeyRing } from "../keys/key-ring.ts"
import { createSecrets } from "../keys/secrets.ts"
import { createHttp } from "./http.ts"
import { addProbes } from "./probes.ts"
import { readinessOf } from "./readiness.ts"

describeOnEachStore("/readyz", (kind) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const key = new Uint8Array(32).fill(2)
  const secrets = createSecrets({ sealingKey: key, peppers: [{ version: 1, key }] })
  let opened: TestStore
  let keys: RunningKeyRing
  let app: ReturnType<typeof createHttp>
  let port: number

  beforeEach(async () => {
    opened = await openTestStore(kind)
    keys = createKeyRing({ signingKeys: opened.signingKeys, secrets, clock: { nowMs: () => Date.now() } })
    app = createHttp({ onFault: () => undefined, listener: { idleGraceMs: 10_000 } })
    addProbes(app, readinessOf(opened.db, { store: opened.store, keys }))
    port = Number(new URL(await app.listen({ host: "127.0.0.1", port: 0 })).port)
  })
  afterEach(async () => {
    agent.destroy()
    await app.close()
    await opened.close()
  })

  /** Over one connection, which stays open. */
  const readiness = async () => {
    const [response] = await once(get({ agent, host: "127.0.0.1", port, path: "/readyz" }), "response")
    return [response.statusCode, await json(response)]
  }
  const missing = (name: string) => [503, { status: "not ready", missing: [name] }]

  test("names the signing keys before they are loaded", async () => {
    expect(await readiness()).toEqual(missing("signing_keys"))
    await keys.start()
    expect(await readiness()).toEqual([200, { status: "ready" }])
  })

  test("names the schema of a database that lacks a migration", async () => {
    await keys.start()
    await opened.db.deleteFrom("migration_checksum").where("name", "=", "0001_identity").execute()
    expect(await readiness()).toEqual(missing("schema"))
  })

  test("names the database alone while none answers", async () => {
    await keys.start()
    await opened.db.destroy()
    expect(await readiness()).toEqual(missing("database"))
  })

  test("says that a server which closes is not running", async () => {
    await keys.start()
    expect(await readiness()).toEqual([200, { status: "ready" }])
    const closed = app.close()
    expect(await readiness()).toEqual(missing("running"))
    await closed
  })
})
