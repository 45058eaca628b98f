// The server under a database role that can insert into the audit tables and change nothing there, created by the
// statements of docs/how-to/protect-the-audit.md.
import { randomBytes } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { CompiledQuery } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import { createAuditCrypto } from "../../server/keys/audit-crypto.ts"
import { createKeyRing } from "../../server/keys/key-ring.ts"
import { createSecrets } from "../../server/keys/secrets.ts"
import { audit } from "../../server/node/admin/audit.ts"
import { CommandFailed } from "../../server/node/admin/command.ts"
import { migrate } from "../../server/node/admin/migrate.ts"
import { checkpointWhenDue } from "../../server/node/audit-chainer.ts"
import { parseConfig } from "../../server/node/config.ts"
import { loadLocalSecrets } from "../../server/node/local-secrets.ts"
import { createAuditLogDeps } from "../../server/store/postgres/audit/audit-log-deps.ts"
import { createSigningKeys } from "../../server/store/postgres/keys/signing-keys.ts"
import { type OpenDatabase, openPostgres } from "../../server/store/postgres/open.ts"
import { createStore } from "../../server/store/postgres/store.ts"
import { isLong } from "../support/effort.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"
import { freePort } from "../support/free-port.ts"
import { createTestDatabase, describeOnPostgres } from "../support/postgres.ts"
import { type RunningProgram, startProgram } from "../support/program.ts"

const role = `signet_runtime_${randomBytes(6).toString("hex")}`
const page = readFileSync(join(import.meta.dirname, "../../docs/how-to/protect-the-audit.md"), "utf8")
const statements = [...page.matchAll(/```sql\n(.*?)```/gs)]
  .map(([, text = ""]) => text)
  .filter((text) => /signet_runtime|audit_only_grows/.test(text))
  .map((text) => text.replaceAll("signet_runtime", role))

describeOnPostgres("a role that only adds to the audit", () => {
  let database: { url: string; drop(): Promise<void> }
  let owner: OpenDatabase
  let runtime: OpenDatabase
  let program: RunningProgram
  let settings: Record<string, string>
  const folder = mkdtempSync(join(fastTmpdir(), "signet-audit-"))
  beforeAll(async () => {
    database = await createTestDatabase()
    owner = openPostgres(database.url, { maxConnections: 2 })
    for (const text of statements) await owner.db.executeQuery(CompiledQuery.raw(text))
    const url = new URL(database.url)
    url.username = role
    runtime = openPostgres(url.href, { maxConnections: 1 })
    settings = { SIGNET_PROFILE: "development", SIGNET_DATA: folder, SIGNET_AUDIT_CHECKPOINT_SECONDS: "60" }
    program = await startProgram({ ...settings, DATABASE_URL: url.href, PORT: String(await freePort()) })
  })
  afterAll(async () => {
    await program?.end("SIGTERM")
    await runtime?.close()
    await owner?.db.executeQuery(CompiledQuery.raw(`drop owned by ${role}`))
    await owner?.db.executeQuery(CompiledQuery.raw(`drop role ${role}`))
    await owner?.close()
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  const post = async (path: string, body: unknown, token?: string) => {
    const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) }
    const response = await fetch(`${program.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) })
    expect([path, response.status, response.ok]).toEqual([path, response.status, true])
    return response.json()
  }
  const admin = (...args: string[]) => audit(args, parseConfig({ ...settings, DATABASE_URL: database.url }))
  const writing = () => createAuditLogDeps(createAuditCrypto(loadLocalSecrets(folder).sealingKey))
  const asOwner = (text: string) => owner.db.executeQuery(CompiledQuery.raw(text))

  test.runIf(isLong)(
    "serves: people sign in, administrators make changes, events are linked, and deleted people are erased",
    async () => {
      const login = await (await fetch(`${program.url}/dev/idp-a/login-request`, { method: "POST", body: "{}" })).json()
      const { identity, principal } = await post("/auth/login/idp-a", login)
      const { pat } = await post("/dev/admin", {})
      const { accessToken } = await post("/auth/pats/exchange", { pat })
      await post("/auth/apps", { app: { name: "Draw" } }, accessToken)
      await expect.poll(async () => (await asOwner("select * from audit_pending")).rows).toEqual([])
      const linked = await asOwner("select distinct kind from audit_link join audit_event on id = event_id")
      const kinds = JSON.stringify(linked.rows)
      for (const kind of ["login.succeeded", "admin.created", "pat.used", "app.created"]) expect(kinds).toContain(kind)
      const store = createStore(runtime.db, { audit: writing() })
      await store.transaction((tx) => tx.accounts.erase(identity.id, Date.now()))
      const { rows } = await asOwner(`select key_sealed from audit_data_key where owner = '${principal.id}'`)
      expect(rows).toEqual([{ key_sealed: null }])
      expect((await admin("verify")).text).toMatch(/^The audit log is complete and unchanged: \d+ events in \d+ chains/)
    },
  )

  test.each([
    "update audit_event set outcome = 'FAILURE'",
    "delete from audit_event",
    "truncate audit_event",
    "update audit_link set seq = seq + 1000",
    "delete from audit_link",
    "update audit_checkpoint set jws = ''",
    "delete from audit_checkpoint",
    "delete from audit_checkpoint_head",
    "insert into audit_start (shard, seq, hash, dropped_at, stamp) values ('-', 1, sha256(''), now(), sha256(''))",
    "insert into migration_checksum (name, sha256) values ('x', repeat('0', 64))",
    "alter table audit_event disable trigger all",
    "drop table audit_link",
  ])("cannot %s", async (text) => {
    await expect(runtime.db.executeQuery(CompiledQuery.raw(text))).rejects.toMatchObject({ code: "42501" })
  })

  test.each(["audit_event", "audit_link", "audit_checkpoint", "audit_checkpoint_head"])(
    "is refused by the trigger of %s even with too many privileges",
    async (table) => {
      await asOwner(`grant update, delete, truncate on ${table} to ${role}`)
      for (const text of [`delete from ${table}`, `truncate ${table} cascade`]) {
        await expect(runtime.db.executeQuery(CompiledQuery.raw(text))).rejects.toMatchObject({ code: "42501" })
      }
      await asOwner(`revoke update, delete, truncate on ${table} from ${role}`)
    },
  )

  test("the owner's commands: no migration is pending, and stored checkpoints reveal deleted events", async () => {
    const config = parseConfig({ ...settings, DATABASE_URL: database.url })
    expect((await migrate([], config)).text).toBe("Applied nothing: the database is up to date.")
    const file = join(folder, "checkpoints.jsonl")
    const clock = { nowMs: () => Date.now() + 3_600_000 }
    const secrets = createSecrets(loadLocalSecrets(folder))
    const keys = createKeyRing({ signingKeys: createSigningKeys(runtime.db), secrets, clock })
    await keys.start()
    const random = { bytes: (length: number) => randomBytes(length) }
    const of = { db: runtime.db, writing: writing(), keys, clock, random, issuer: program.url, everySeconds: 60 }
    expect((await checkpointWhenDue(of)())?.number).toBe(1n)
    expect(await checkpointWhenDue(of)()).toBeUndefined()
    expect((await checkpointWhenDue({ ...of, everySeconds: 0 })())?.number).toBe(2n)

    expect((await admin("checkpoints", "--out", file)).text).toContain("Added 2 checkpoints")
    expect((await admin("checkpoints", "--out", file)).text).toContain("Added 0 checkpoints")
    expect((await admin("verify", "--checkpoints", file)).text).toContain("2 checkpoints")
    await expect(admin("drop", "--before", "tomorrow")).rejects.toThrow("audit drop --before")
    expect(await admin("drop", "--before", "2020-01-01")).toMatchObject({ json: { events: 0, chains: 0 } })
    await asOwner("update audit_checkpoint set jws = replace(jws, '.', '.A') where number = 2")
    await expect(admin("verify")).rejects.toThrow("CHECKPOINT_CHANGED checkpoint=2")
    await asOwner("delete from audit_checkpoint_head where number = 2; delete from audit_checkpoint where number = 2")
    const found = admin("verify", "--checkpoints", file)
    await expect(found).rejects.toSatisfy((error) => error instanceof CommandFailed && error.code === 3)
    await expect(admin("verify", "--checkpoints", file)).rejects.toThrow("CHECKPOINT_MISSING checkpoint=2")
    await expect(admin("verify", "--out", file)).rejects.toThrow("audit verify [--checkpoints FILE]")
  })
})
