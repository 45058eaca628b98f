// Limits on password guesses and mails, and their effect on the owner of an address.
import { ConnectError } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { defaultLimits, type Limits, type Window } from "@signet/kernel/limits/policy"
import { Platform, Provider } from "@signet/proto/auth/v1/records"
import { ErrorInfoSchema, RetryInfoSchema } from "@signet/proto/google/rpc/error_details"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer, clientsOver, refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { storyStore } from "../support/postgres.ts"
import { password, redirectUri, type SignInWorld, startSignInWorld } from "../support/sign-in-world.ts"

const many: Window = { limit: 100_000, seconds: 60 }
const minute = 60_000

/** The defaults, except the calls of one IP address: all tests share it. */
const limits: Limits = {
  ...defaultLimits,
  windows: {
    ...defaultLimits.windows,
    login_email: { ...defaultLimits.windows.login_email, ip: many },
    magic_link_start: { ...defaultLimits.windows.magic_link_start, ip: many },
    magic_link_confirm: { ...defaultLimits.windows.magic_link_confirm, ip: many },
  },
}

interface HttpAnswer {
  status: number
  reason?: string
  retryAfter: string | null
  policy: string | null
}

describe("limits on emails", () => {
  let world: SignInWorld
  let people = 0
  beforeAll(async () => {
    world = await startSignInWorld({ store: storyStore, limits, trustedHops: 1 })
  })
  afterAll(() => world?.close())

  async function person(isConfirmed = true): Promise<string> {
    const email = `limited-${++people}@example.com`
    await world.idpC.addPerson({ email, password, isConfirmed })
    return email
  }
  async function post(path: string, body: object, address: string): Promise<HttpAnswer> {
    const response = await fetch(world.server.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-for": address },
      body: JSON.stringify({ appId: world.app.id, platform: "WEB", ...body }),
    })
    const { reason } = response.status === 204 ? { reason: undefined } : await response.json()
    const { headers } = response
    return {
      status: response.status,
      reason,
      retryAfter: headers.get("retry-after"),
      policy: headers.get("ratelimit-policy"),
    }
  }
  const guess = (email: string, address: string, typed = "wrong") =>
    post("/auth/login/email", { email, password: typed }, address)
  const start = (email: string, address: string) => post("/auth/magic-link/start", { email, redirectUri }, address)

  test("wrong passwords of a user who links the address to their own account count as guesses", async () => {
    const email = await person()
    const { accessToken = "" } = await world.signInA("guesses by linking")
    const { account } = clientsOver(createGrpcTransport({ baseUrl: world.server.url }))
    const link = (typed: string) =>
      refusal(
        account.linkProviderAccount(
          {
            provider: Provider.IDP_C,
            platform: Platform.WEB,
            credential: { case: "emailPassword", value: { email, password: typed } },
          },
          bearer(accessToken),
        ),
      )
    for (let i = 0; i < 5; i++) expect(await link("wrong")).toBe("Unauthenticated INVALID_CREDENTIALS")
    const asked = world.idpC.requests.length
    expect(await link(password)).toBe("ResourceExhausted LOCKED_OUT")
    expect(world.idpC.requests.length).toBe(asked)
  })

  test("five wrong passwords lock the email for the sender's IP address, also with the right password", async () => {
    const email = await person()
    for (let i = 0; i < 5; i++) expect((await guess(email, "203.0.113.1")).reason).toBe("INVALID_CREDENTIALS")
    const asked = world.idpC.requests.length
    const locked = await guess(email, "203.0.113.1", password)
    expect(locked).toMatchObject({ status: 429, reason: "LOCKED_OUT", retryAfter: "900", policy: null })
    expect(world.idpC.requests.length).toBe(asked)
    await guess(email, "203.0.113.1", password)
    expect((await guess(email, "203.0.113.2", password)).status).toBe(200)
    // One lockout is one event, and does not name the email address.
    const lockouts = () =>
      world.server.store.db
        .selectFrom("audit_event")
        .select(["reason", "target_id", "subject_principal_id"])
        .where("kind", "=", "ratelimit.locked_out")
        .where("subject_principal_id", "is", null)
        .execute()
    const one = { reason: "LOCKED_OUT", target_id: "email", subject_principal_id: null }
    await expect.poll(lockouts).toEqual([one])
    world.server.advance(15 * minute)
    expect((await guess(email, "203.0.113.1", password)).status).toBe(200)
  })

  test("over gRPC a lockout has a retry delay", async () => {
    const email = await person()
    const { auth } = clientsOver(createGrpcTransport({ baseUrl: world.server.url }))
    const login = { appId: world.app.id, platform: Platform.WEB, email, password: "wrong" }
    for (let i = 0; i < 5; i++) await auth.emailPasswordLogin(login).catch(() => {})
    const error = ConnectError.from(await auth.emailPasswordLogin(login).catch((thrown) => thrown))
    expect(error.findDetails(ErrorInfoSchema)[0]?.reason).toBe("LOCKED_OUT")
    expect(error.findDetails(RetryInfoSchema)[0]?.retryDelay?.seconds).toBe(900n)
  })

  test("each lockout is twice as long as the last", async () => {
    const email = await person()
    for (const seconds of ["900", "1800", "3600"]) {
      for (let i = 0; i < 5; i++) await guess(email, "203.0.113.3")
      const { reason, retryAfter } = await guess(email, "203.0.113.3")
      expect([reason, retryAfter]).toEqual(["LOCKED_OUT", seconds])
      world.server.advance(Number(seconds) * 1_000)
    }
  })

  test("another spelling of the email address is the same address", async () => {
    const email = await person()
    const spellings = [email, email.toUpperCase(), ` ${email}`, `${email} `, email.replace("l", "ｌ")]
    for (const spelling of spellings) await guess(spelling, "203.0.113.4")
    expect((await guess(email, "203.0.113.4")).reason).toBe("LOCKED_OUT")
  })

  test("a provider's failure does not count as a wrong password", async () => {
    const email = await person()
    world.idpC.misbehaviour.set("/token", "fails")
    for (let i = 0; i < 6; i++) expect((await guess(email, "203.0.113.5")).reason).toBe("UPSTREAM_UNAVAILABLE")
    world.idpC.misbehaviour.clear()
    world.server.advance(minute)
    expect((await guess(email, "203.0.113.5", password)).status).toBe(200)
  })

  test.runIf(isLong)(
    "fifty guesses an hour from all IP addresses are allowed, and the owner's sign-ins do not count",
    async () => {
      const email = await person()
      expect((await guess(email, "198.51.100.1", password)).status).toBe(200)
      const answers: HttpAnswer[] = []
      for (let i = 0; i < 52; i++) answers.push(await guess(email, `192.0.2.${i}`))
      expect(answers.map(({ reason }) => reason)).toEqual([
        ...Array(50).fill("INVALID_CREDENTIALS"),
        ...Array(2).fill("RATE_LIMITED"),
      ])
      expect(answers.at(-1)?.retryAfter).toBe("72")
      // The owner's known IP addresses are refused, too: the test of device tokens shows the alternative.
      expect((await guess(email, "198.51.100.1", password)).reason).toBe("RATE_LIMITED")
    },
  )

  test("no answer reveals the remaining attempts for an email", async () => {
    const { policy } = await guess(await person(), "203.0.113.6")
    expect(policy).toBe(`"login_email-ip";q=100000;w=60`)
  })

  test("an address gets at most three links in a quarter of an hour, known or not", async () => {
    const told = async (email: string) => {
      const answers: HttpAnswer[] = []
      for (let i = 0; i < 4; i++) answers.push(await start(email, `203.0.113.${10 + i}`))
      return answers
    }
    const known = await told(await person())
    expect(known.map(({ status }) => status)).toEqual([204, 204, 204, 429])
    expect(known[3]).toMatchObject({ reason: "RATE_LIMITED", retryAfter: "300" })
    expect(await told("nobody-limits@example.com")).toEqual(known)
    expect(await told(await person(false))).toEqual(known)
  })

  test.runIf(isLong)("an address gets at most twenty links in a day", async () => {
    const email = await person()
    let sent = 0
    for (let i = 0; i < 40; i++) {
      if ((await start(email, "203.0.113.20")).status === 204) sent++
      world.server.advance(10 * minute)
    }
    // The bucket refills while it is emptied: 20 at once and the refill of 400 minutes.
    expect(sent).toBeGreaterThanOrEqual(20)
    expect(sent).toBeLessThanOrEqual(26)
  })

  test("a link that is refused for everybody uses no attempt", async () => {
    const email = await person()
    const elsewhere = { email, redirectUri: "https://evil.example/" }
    for (let i = 0; i < 5; i++) {
      expect((await post("/auth/magic-link/start", elsewhere, "203.0.113.21")).reason).toBe("REDIRECT_NOT_ALLOWED")
    }
    expect((await start(email, "203.0.113.21")).status).toBe(204)
  })

  test("a token hash is tried at most five times, from all IP addresses", async () => {
    const answers: HttpAnswer[] = []
    for (let i = 0; i < 6; i++) {
      answers.push(await post("/auth/magic-link/confirm", { tokenHash: "0123456789abcdef" }, `203.0.113.${30 + i}`))
    }
    expect(answers.map(({ reason }) => reason)).toEqual([...Array(5).fill("MAGIC_LINK_INVALID"), "RATE_LIMITED"])
  })

  test("the tables contain no email address", async () => {
    const email = await person()
    await guess(email, "203.0.113.40", password)
    await start(email, "203.0.113.40")
    const { rows } = await world.server.store.db
      .selectFrom("magic_link_request")
      .selectAll()
      .execute()
      .then((found) => ({ rows: JSON.stringify(found) }))
    expect(rows).not.toContain("limited-")
    expect(rows.length).toBeGreaterThan(10)
  })
})

describe("an address", () => {
  test.runIf(isLong)("signs in ten times a minute, requests five links and confirms twenty", async () => {
    const world = await startSignInWorld({ store: storyStore, limits: defaultLimits })
    const passes = async (call: (i: number) => Promise<{ reason?: string }>, most: number) => {
      const startMs = world.server.deps.clock.nowMs()
      let passed = 0
      while ((await call(passed)).reason !== "RATE_LIMITED") passed++
      // The refill in the meantime: a bucket refills while it is emptied.
      const elapsedMs = world.server.deps.clock.nowMs() - startMs
      expect(passed).toBeGreaterThanOrEqual(most)
      expect(passed).toBeLessThanOrEqual(most + Math.floor((elapsedMs * most) / minute))
    }
    await passes((i) => world.signInC(`ip-${i}@example.com`), 10)
    await passes((i) => world.startLink(`ip-${i}@example.com`), 5)
    await passes((i) => world.confirmLink(`0123456789abcdef${i}`), 20)
    await world.close()
  })
})
