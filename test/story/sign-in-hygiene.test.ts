// Each way of signing in, successful and failed, with the most verbose log: the log contains no personal data and no
// secret.
import { defaultLimits } from "@signet/kernel/limits/policy"
import { buildOpaque } from "@signet/kernel/token/opaque"
import { afterAll, beforeAll, expect, test } from "vitest"
import { createLog } from "../../server/node/log.ts"
import { storyStore } from "../support/postgres.ts"
import { password, type SignInWorld, startSignInWorld } from "../support/sign-in-world.ts"

const lines: string[] = []
const secrets = new Map<string, string>()
let world: SignInWorld

const remember = (what: string, text: string): string => {
  expect(text.length).toBeGreaterThan(7)
  secrets.set(text, what)
  return text
}

beforeAll(async () => {
  const lockouts = { ...defaultLimits.lockouts, email: { ...defaultLimits.lockouts.email, failures: 1 } }
  const { windows } = defaultLimits
  const log = createLog("trace", (line) => void lines.push(line))
  world = await startSignInWorld({ store: storyStore, limits: { windows, lockouts }, log })
  const email = remember("email", "ada.lovelace@example.com")
  const other = remember("another email", "charles.babbage@example.com")
  remember("local part", "ada.lovelace")
  remember("password", password)
  remember("wrong password", "wrong-password-1")
  remember("the project's key", world.idpC.secretKey)
  await world.idpC.addPerson({ email, password, isConfirmed: true })
  await world.idpC.addPerson({ email: other, password, isConfirmed: false })

  const { deviceToken = "" } = await world.signInC(email)
  remember("device token", deviceToken)
  expect((await world.signInC(email, { body: { deviceToken } })).status).toBe(200)
  expect((await world.signInC(other)).reason).toBe("EMAIL_NOT_VERIFIED")
  expect((await world.signInC(email, { password: "wrong-password-1" })).reason).toBe("INVALID_CREDENTIALS")
  expect((await world.signInC(email)).reason).toBe("LOCKED_OUT")
  for (let i = 0; i < 3; i++) expect((await world.startLink(email)).status).toBe(204)
  expect((await world.startLink(email)).reason).toBe("RATE_LIMITED")
  const tokenHash = remember("token hash", world.linkOf(email))
  const body = { codeVerifier: remember("code verifier", "v-".repeat(22)) }
  expect((await world.confirmLink(tokenHash, body)).reason).toBe("MAGIC_LINK_INVALID")
  world.idpC.misbehaviour.set("/verify", "html")
  expect((await world.confirmLink(tokenHash, body)).reason).toBe("UPSTREAM_UNAVAILABLE")

  const invitationCode = remember("invitation", buildOpaque("sginv_", world.server.deps.random))
  const name = remember("name", "Ada King, Countess of Lovelace")
  const profileHints = { name, email: remember("hint", "hinted.address@example.com") }
  expect((await world.signInB("hygiene", { body: { invitationCode } })).reason).toBe("INVITATION_INVALID")
  expect((await world.signInB("hygiene", { body: { profileHints } })).status).toBe(200)
  const payload = await world.idpB.notify({ event: { sub: remember("subject", "subject-of-idp-b") } })
  remember("notification", payload.split(".")[1] ?? "")
  expect((await world.post("/auth/webhooks/idp-b", { payload })).status).toBe(204)
  expect((await world.post("/auth/webhooks/idp-b", { payload: `${payload}x` })).reason).toBe("PROVIDER_TOKEN_INVALID")
})
afterAll(() => world?.close())

test("the log contains calls", () => {
  expect(lines.length).toBeGreaterThan(10)
  expect(lines.join("\n")).toContain("LOCKED_OUT")
})

test("no line of the log contains personal data or a secret", () => {
  for (const line of lines) {
    for (const [text, what] of secrets) expect(line.includes(text), `${what} in ${line}`).toBe(false)
  }
})

test("the audit, the rate limits and the magic links contain no personal data and no secret", async () => {
  const { db } = world.server.store
  const rows = [
    ...(await db.selectFrom("audit_event").selectAll().execute()),
    ...(await db.selectFrom("magic_link_request").selectAll().execute()),
  ]
  expect(rows.length).toBeGreaterThan(10)
  const text = JSON.stringify(rows)
  for (const [secret, what] of secrets) expect(text.includes(secret), what).toBe(false)
})
