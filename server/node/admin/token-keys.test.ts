import { afterAll, beforeAll, expect, test } from "vitest"
import { createTestDatabase, describeOnPostgres } from "../../../test/support/postgres.ts"
import { createSigningKeys } from "../../store/postgres/keys/signing-keys.ts"
import { type Config, parseConfig } from "../config.ts"
import { openDatabase } from "../open-database.ts"
import { tokenKeys } from "./token-keys.ts"

const key = Buffer.alloc(32, 7).toString("base64")

describeOnPostgres("the keys of tokens", () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>
  let config: Config
  beforeAll(async () => {
    database = await createTestDatabase()
    config = parseConfig({
      SIGNET_PROFILE: "production",
      DATABASE_URL: database.url,
      SIGNET_ISSUER: "https://auth.example",
      SIGNET_SEALING_KEY: key,
      SIGNET_PEPPERS: `1:${key}`,
    })
  })
  afterAll(() => database?.drop())

  async function look() {
    const { db, close } = await openDatabase(config, () => undefined)
    const keys = await createSigningKeys(db).list()
    const kinds = await db.selectFrom("audit_event").select("kind").execute()
    await close()
    const of = (purpose: string, status: string) =>
      keys.filter((one) => one.purpose === purpose && one.status === status).map(({ kid }) => kid)
    return { of, kinds: kinds.map(({ kind }) => kind) }
  }

  test("rotate on command for one purpose, and a compromised key signs nothing", async () => {
    await expect(tokenKeys(["rotate", "ACCESS"], config)).rejects.toThrow("use --early to activate it now")
    const before = await look()
    await tokenKeys(["rotate", "ACCESS", "--early"], config)
    const after = await look()
    expect(after.of("ACCESS", "CURRENT")).toEqual(before.of("ACCESS", "NEXT"))
    // Its signatures stay valid until they expire.
    expect(after.of("ACCESS", "PREVIOUS")).toEqual(before.of("ACCESS", "CURRENT"))
    expect(after.of("STATEMENT", "CURRENT")).toEqual(before.of("STATEMENT", "CURRENT"))

    const [kid = ""] = after.of("ACCESS", "CURRENT")
    const { json } = await tokenKeys(["compromise", kid], config)
    expect(json).toMatchObject({ changes: [{ kid, purpose: "ACCESS", status: "COMPROMISED" }, {}, {}] })
    await expect(tokenKeys(["compromise", kid], config)).rejects.toThrow("The key does not exist")
    await expect(tokenKeys(["compromise", `-${kid.slice(1)}`], config)).rejects.toThrow("The key does not exist")
    const { kinds } = await look()
    expect(kinds).toEqual(expect.arrayContaining(["key.activated", "key.retired", "key.compromised"]))
    const listed = await tokenKeys(["list"], config)
    expect(listed.text).toContain(`${kid} ACCESS COMPROMISED since `)
    expect(JSON.stringify(listed.json)).not.toMatch(/private|sealed|"d"/i)
  })
})

test.each([[[]], [["rotate"]], [["rotate", "PROOF"]], [["rotate", "ACCESS", "more"]], [["rotate", "ACCESS", "--now"]]])(
  "%j prints the usage before anything is opened",
  async (args) => {
    await expect(async () => tokenKeys(args, parseConfig({ SIGNET_DATA: "/nowhere" }))).rejects.toThrow("keys root new")
  },
)
