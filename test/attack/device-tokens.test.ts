// Strangers use up the password attempts for an address. What they can learn about its owner, and what a stolen device
// token gives.
import type { ConnectError } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { deviceTokenSeconds, formatDeviceToken, parseDeviceToken } from "@signet/kernel/identity/device-token"
import { defaultLimits, type Limits } from "@signet/kernel/limits/policy"
import { Platform } from "@signet/proto/auth/v1/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { reasonOf } from "../../server/serving/errors.ts"
import { clientsOver } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { storyStore } from "../support/postgres.ts"
import { password, redirectUri, type SignInWorld, startSignInWorld } from "../support/sign-in-world.ts"

const origin = "https://notes.example"
const [perHour, perDevice, perDevices] = [12, 4, 10]
/**
 * Lower limits than the default, so that tests reach them soon. The limit per network is high, because all tests share
 * one.
 */
const limits: Limits = {
  ...defaultLimits,
  windows: {
    ...defaultLimits.windows,
    login_email: {
      ip: { limit: 100_000, seconds: 60 },
      email: { limit: perHour, seconds: 3_600 },
      device_token: { limit: perDevice, seconds: 3_600 },
      device_tokens: { limit: perDevices, seconds: 3_600 },
    },
  },
}

interface HttpAnswer {
  status: number
  body: { reason?: string; deviceToken?: string; retryAfter?: string }
  retryAfter: string | null
  policy: string | null
  cookies: string[]
}

let world: SignInWorld
let people = 0
beforeAll(async () => {
  world = await startSignInWorld({ store: storyStore, limits, trustedHops: 1 })
})
afterAll(() => world?.close())

async function person(): Promise<string> {
  const email = `device-${++people}@example.com`
  await world.idpC.addPerson({ email, password, isConfirmed: true })
  return email
}

async function post(
  path: string,
  body: object,
  network: string,
  headers: Record<string, string> = {},
): Promise<HttpAnswer> {
  const response = await fetch(world.server.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-forwarded-for": network, ...headers },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  return {
    status: response.status,
    body: text === "" ? {} : JSON.parse(text),
    retryAfter: response.headers.get("retry-after"),
    policy: response.headers.get("ratelimit-policy"),
    cookies: response.headers.getSetCookie(),
  }
}

const home = "198.51.100.1"
interface Attempt {
  password?: string
  network?: string
  deviceToken?: string
  appId?: string
}
const signIn = (email: string, { network = home, ...change }: Attempt = {}) =>
  post("/auth/login/email", { appId: world.app.id, platform: "WEB", email, password, ...change }, network)
const tokenOf = async (email: string, change: Attempt = {}): Promise<string> => {
  const { status, body } = await signIn(email, change)
  expect(status).toBe(200)
  return body.deviceToken ?? ""
}

let networks = 0
/** Returns a network from which nobody has called yet. */
const elsewhere = () => `2001:db8:${(++networks).toString(16)}::1`

/**
 * Tries wrong passwords, each from another network, until an attempt is refused by the limit.
 *
 * @returns The number of attempts that were checked.
 */
async function useUp(email: string): Promise<number> {
  for (let taken = 0; ; taken++) {
    const { status, body } = await signIn(email, { password: "wrong", network: elsewhere() })
    if (status === 429) return taken
    expect(body.reason).toBe("INVALID_CREDENTIALS")
  }
}
/** The parts of an answer that do not differ between any two calls. */
const told = ({ status, body, retryAfter, policy, cookies }: HttpAnswer) => {
  const { instance, requestId, ...rest } = Object(body)
  return { status, rest, retryAfter, policy, cookies }
}

test.runIf(isLong)(
  "a locked address gets the same answer, whether known or not, from any network, with a right or wrong password",
  async () => {
    const [known, unknown] = [await person(), "nobody-at-all@example.com"]
    // The owner's own sign-ins do not reduce the attempts that are left for strangers.
    for (let i = 0; i < 7; i++) await tokenOf(known)
    expect([await useUp(known), await useUp(unknown)]).toEqual([perHour, perHour])
    const asked = world.idpC.requests.length
    for (const network of [home, elsewhere()]) {
      for (const typed of ["wrong", password]) {
        const refused = told(await signIn(known, { network, password: typed }))
        expect(refused).toMatchObject({ status: 429, retryAfter: "300", rest: { reason: "RATE_LIMITED" } })
        expect(told(await signIn(unknown, { network, password: typed }))).toEqual(refused)
        // The elapsed time does not reveal when others called.
        world.server.advance(7_000)
      }
    }
    expect(world.idpC.requests.length).toBe(asked)
  },
)

test("another spelling of an address that the project treats as equal brings no new attempts", async () => {
  const email = await person()
  await useUp(email)
  for (const same of [email.toUpperCase(), email.replace("i", "\u0130"), ` ${email.replace("d", "\uff24")}`]) {
    expect((await signIn(same, { password: "wrong", network: elsewhere() })).status).toBe(429)
  }
})

test("the owner's device can sign in while its address and its network are locked", async () => {
  const email = await person()
  const deviceToken = await tokenOf(email)
  await useUp(email)
  for (let i = 0; i < 5; i++) await signIn(email, { password: "wrong", network: home })
  expect((await signIn(email, { password: "wrong", deviceToken })).body.reason).toBe("INVALID_CREDENTIALS")
  const renewed = await tokenOf(email, { deviceToken, network: elsewhere() })
  const nowMs = world.server.deps.clock.nowMs()
  expect(parseDeviceToken(renewed, nowMs)?.id).toBe(parseDeviceToken(deviceToken, nowMs)?.id)
  expect((await signIn(email, { network: home })).status).toBe(429)
})

test("strangers in the device's network lock out others but not the device", async () => {
  const email = await person()
  const deviceToken = await tokenOf(email)
  for (let i = 0; i < 5; i++) await signIn(email, { password: "wrong" })
  expect((await signIn(email)).body.reason).toBe("LOCKED_OUT")
  await tokenOf(email, { deviceToken })
})

test.runIf(isLong)("the device token works over gRPC", async () => {
  const email = await person()
  const { auth } = clientsOver(createGrpcTransport({ baseUrl: world.server.url }))
  const login = { appId: world.app.id, platform: Platform.WEB, email, password }
  const { deviceToken } = await auth.emailPasswordLogin(login)
  await useUp(email)
  expect((await auth.emailPasswordLogin({ ...login, deviceToken })).deviceToken).toMatch(/^sgdt_/)
  await expect(auth.emailPasswordLogin(login)).rejects.toSatisfy(
    (error) => reasonOf(error as ConnectError) === "RATE_LIMITED",
  )
})

test("a sign-in by magic link returns a device token", async () => {
  const email = await person()
  const asked = await post(
    "/auth/magic-link/start",
    { appId: world.app.id, platform: "WEB", email, redirectUri },
    elsewhere(),
  )
  expect(asked.status).toBe(204)
  await world.server.deps.background.settled()
  const link = { appId: world.app.id, platform: "WEB", tokenHash: world.linkOf(email) }
  const { body } = await post("/auth/magic-link/confirm", link, elsewhere())
  await useUp(email)
  await tokenOf(email, { deviceToken: body.deviceToken ?? "" })
})

test("in cookie mode neither a script nor a body can read the token, and it outlives the session", async () => {
  const email = await person()
  const page = { origin, "x-signet-client": "web", "sec-fetch-site": "same-site" }
  const appId = world.app.id
  const login = { appId, platform: "WEB", email, password, cookieMode: true }
  const first = await post("/auth/login/email", login, home, page)
  expect(first.body).not.toHaveProperty("deviceToken")
  const cookies = first.cookies.map((cookie) => cookie.split(";")[0] ?? "")
  const device = first.cookies.find((cookie) => cookie.startsWith("__Host-sgdt-"))
  expect(device).toMatch(
    new RegExp(`^__Host-sgdt-${appId}=sgdt_[\\w.-]+; Path=/; Max-Age=7776000; Secure; HttpOnly; SameSite=Strict$`),
  )
  const out = await post("/auth/session/logout", { appId }, home, { ...page, cookie: cookies.join("; ") })
  expect(out.status).toBe(204)
  expect(out.cookies.map((cookie) => cookie.split("=")[0])).toEqual([`__Host-sgrt-${appId}`])
  await useUp(email)
  const cookie = device?.split(";")[0] ?? ""
  const token = cookie.slice(cookie.indexOf("=") + 1)
  expect((await post("/auth/login/email", login, home, page)).status).toBe(429)
  expect((await post("/auth/login/email", { ...login, deviceToken: token }, home, page)).status).toBe(429)
  // A page of another origin is refused before its password is checked.
  const foreign = { ...page, origin: "https://evil.example", cookie }
  expect((await post("/auth/login/email", login, home, foreign)).body.reason).toBe("ORIGIN_NOT_ALLOWED")
  expect((await post("/auth/login/email", login, home, { ...page, cookie })).status).toBe(200)
})

test.runIf(isLong)("a token for another address or app, by another key, expired or altered has no effect", async () => {
  const [email, other] = [await person(), await person()]
  const own = await tokenOf(email)
  const nowMs = world.server.deps.clock.nowMs()
  const { id = "", expiresAt = 0, mac = "" } = parseDeviceToken(own, nowMs) ?? {}
  const stolen = {
    "of another address": await tokenOf(other),
    "of another app": await tokenOf(email, { appId: world.otherApp.id }),
    "with a longer life": formatDeviceToken({ id, expiresAt: expiresAt + 1 }, mac),
    "with another id": formatDeviceToken({ id: id.replace(/./, (c) => (c === "A" ? "B" : "A")), expiresAt }, mac),
    "with another MAC": formatDeviceToken({ id, expiresAt }, mac.slice(0, -2) + (mac.endsWith("AA") ? "AE" : "AA")),
    "without a MAC": formatDeviceToken({ id, expiresAt }, ""),
    "that is a refresh token": `sgrt_${"0".repeat(50)}`,
  }
  await useUp(email)
  for (const [what, deviceToken] of Object.entries(stolen)) {
    expect([what, (await signIn(email, { deviceToken })).status]).toEqual([what, 429])
  }
  // Shows that the address itself works: its own token is accepted.
  await tokenOf(email, { deviceToken: own })
  world.server.advance(deviceTokenSeconds * 1_000)
  await useUp(email)
  expect((await signIn(email, { deviceToken: own })).status).toBe(429)
})

test.runIf(isLong)(
  "a stolen token allows few guesses an hour from all networks together, and locks nobody out",
  async () => {
    const email = await person()
    const deviceToken = await tokenOf(email)
    await useUp(email)
    const reasons: (string | undefined)[] = []
    for (let i = 0; i < perDevice + 3; i++) {
      reasons.push((await signIn(email, { password: "wrong", network: elsewhere(), deviceToken })).body.reason)
    }
    expect(reasons).toEqual([...Array(perDevice).fill("INVALID_CREDENTIALS"), ...Array(3).fill("RATE_LIMITED")])
    // A renewal with the right password keeps the device's id, so it brings no new attempts.
    world.server.advance((3_600 / perDevice) * 1_000 + 1)
    const renewed = await tokenOf(email, { deviceToken })
    const next = [deviceToken, renewed].map((token) => () => signIn(email, { password: "wrong", deviceToken: token }))
    await useUp(email)
    const after: (string | undefined)[] = []
    for (const call of next) after.push((await call()).body.reason)
    expect(after).toEqual(["INVALID_CREDENTIALS", "RATE_LIMITED"])
  },
)

test.runIf(isLong)(
  "many tokens that somebody collected while they knew the password allow few guesses in total",
  async () => {
    const email = await person()
    const hoard: string[] = []
    for (let i = 0; i < 5; i++) hoard.push(await tokenOf(email))
    await useUp(email)
    const reasons: (string | undefined)[] = []
    for (const deviceToken of hoard) {
      for (let i = 0; i < perDevice; i++) {
        reasons.push((await signIn(email, { password: "wrong", network: elsewhere(), deviceToken })).body.reason)
      }
    }
    expect(reasons.filter((reason) => reason === "INVALID_CREDENTIALS")).toHaveLength(perDevices)
    expect(new Set(reasons.slice(perDevices))).toEqual(new Set(["RATE_LIMITED"]))
  },
)
