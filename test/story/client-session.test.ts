// The identity client against the real server: a session through faults, restarts, theft and stale tokens.
import { createClient } from "@connectrpc/connect"
import { isFailure, type SessionState } from "@signet/client"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { administeredWorld } from "../support/administration.ts"
import { type ClientWorld, startClientWorld } from "../support/client-world.ts"
import { clientsOver } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { storyStore } from "../support/postgres.ts"
import { createRestTransport } from "../support/rest-transport.ts"

const minutes = 60_000
const day = 24 * 60 * minutes

let world: ClientWorld
beforeAll(async () => {
  world = await startClientWorld({ store: storyStore })
})
afterAll(() => world?.close())

const states = (signet: { session: { subscribe(listener: (state: SessionState) => void): unknown } }) => {
  const seen: string[] = []
  signet.session.subscribe((state) => seen.push(state.is === "loggedOut" ? state.reason : state.is))
  return seen
}
const reasonOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "none",
    (error: unknown) => String(Object(error).reason ?? error),
  )
const me = (signet: { session: { transport(): Parameters<typeof createClient>[1] } }) =>
  createClient(AuthService, signet.session.transport()).me({})

describe("a sign-in", () => {
  test("is observed as a stream, calls with a token of each audience, and ends", async () => {
    const signet = world.open(world.browser().tab(), { audiences: ["svc-notes"] })
    const seen = states(signet)
    await signet.session.ready
    await world.signIn(signet, "stream")
    const { principal } = await me(signet)
    const { current } = signet.session
    expect(current).toMatchObject({ is: "signedIn", user: { principalId: principal?.id } })
    const tokens = [await signet.session.accessToken(), await signet.session.accessToken("svc-notes")]
    expect(tokens.map((token) => JSON.parse(atob(token.split(".")[1] ?? "")).aud)).toEqual(["auth", "svc-notes"])
    expect(await signet.session.logout()).toEqual({ endedAtService: true })
    expect(await reasonOf(signet.session.accessToken())).toBe("NOT_SIGNED_IN")
    expect(seen).toEqual(["starting", "NOT_SIGNED_IN", "signedIn", "LOGGED_OUT"])
  })

  test("a page shown during its start reports signed out, and no sign-out elsewhere", async () => {
    const signet = world.open(world.browser().tab())
    const seen = states(signet)
    // `pageshow` follows `load`, before the storage has been read.
    signet.wake()
    await signet.session.ready
    expect(signet.session.current).toEqual({ is: "loggedOut", reason: "NOT_SIGNED_IN" })
    expect(seen).toEqual(["starting", "NOT_SIGNED_IN"])
  })

  test("is restored after a restart without a call, and calls again after one refresh", async () => {
    const browser = world.browser()
    await world.signIn(world.open(browser.tab()), "restart")
    const calls = world.calls.length
    const again = world.open(browser.tab({ channel: undefined }))
    await again.session.ready
    expect(again.session.current.is).toBe("signedIn")
    expect(world.calls.length).toBe(calls)
    await me(again)
    expect(world.calls.slice(calls)).toEqual(["Refresh", "Me"])
  })

  test("requests an audience at its first use, and refuses an audience that is not the app's", async () => {
    const signet = world.open(world.browser().tab())
    await world.signIn(signet, "audiences")
    expect(await signet.session.accessToken("svc-notes")).toBeTruthy()
    expect(await reasonOf(signet.session.accessToken("svc-other"))).toBe("AUDIENCE_NOT_REGISTERED")
    expect(signet.session.current.is).toBe("signedIn")
    expect(await me(signet)).toBeTruthy()
  })

  test("ends on all devices when the person requests it", async () => {
    const [here, there] = [world.open(world.browser().tab()), world.open(world.browser().tab())]
    await world.signIn(here, "everywhere")
    await world.signIn(there, "everywhere")
    expect(await here.session.logoutAll()).toBe(2)
    expect(here.session.current).toEqual({ is: "loggedOut", reason: "LOGGED_OUT" })
    expect(isFailure(await me(there).catch((error: unknown) => error), "REFRESH_TOKEN_INVALID")).toBe(true)
    expect(there.session.current).toEqual({ is: "loggedOut", reason: "REFRESH_TOKEN_INVALID" })
  })
})

describe("the person stays signed in after", () => {
  test.each([
    ["a lost request", "lost"],
    ["a lost answer", "answer lost"],
    ["an answer of a captive portal", "portal"],
  ] as const)("%s", async (_, fault) => {
    const signet = world.open(world.browser().tab())
    await world.signIn(signet, `fault ${fault}`)
    const seen = states(signet)
    for (let round = 0; round < 3; round++) {
      world.server.advance(11 * minutes)
      world.clock.jump(11 * minutes)
      world.fail("Refresh", fault, fault)
      expect(await reasonOf(signet.session.accessToken())).toBe("UNREACHABLE")
      expect(await reasonOf(signet.session.accessToken())).toBe("UNREACHABLE")
      expect(await me(signet)).toBeTruthy()
    }
    expect(seen).toEqual(["signedIn"])
  })

  test("a day's sleep of ten tabs that wake at the same time: one of them refreshes", async () => {
    const browser = world.browser()
    const first = world.open(browser.tab())
    await world.signIn(first, "sleep")
    const tabs = [first, ...Array.from({ length: 9 }, () => world.open(browser.tab()))]
    await Promise.all(tabs.map((tab) => tab.session.ready))
    world.server.advance(day)
    world.clock.jump(day)
    const calls = world.calls.length
    await Promise.all(tabs.map((tab) => tab.session.accessToken()))
    expect(world.calls.slice(calls)).toEqual(["Refresh"])
    expect(new Set(await Promise.all(tabs.map((tab) => tab.session.accessToken()))).size).toBe(1)
  })

  test.each([
    ["ahead", 400 * day],
    ["back", -400 * day],
  ])("a clock that is set %s", async (_, ms) => {
    const signet = world.open(world.browser().tab())
    await world.signIn(signet, `clock ${ms}`)
    world.clock.jump(ms)
    expect(await me(signet)).toBeTruthy()
    world.server.advance(11 * minutes)
    expect(await me(signet)).toBeTruthy()
    expect(await me(signet)).toBeTruthy()
    world.clock.jump(-ms)
    expect(signet.session.current.is).toBe("signedIn")
  })
})

describe("a stolen refresh token", () => {
  const stolen = async (subject: string) => {
    const browser = world.browser()
    const victim = world.open(browser.tab())
    await world.signIn(victim, subject)
    const copy = world.browser()
    // The thief has copied the storage, and its box decrypts the copy.
    const thief = world.open({ ...browser.tab(), storage: copy.storage, lock: copy.lock, channel: copy.tab().channel })
    for (const [name, kept] of browser.storage.all) copy.storage.all.set(name, kept)
    world.server.advance(11 * minutes)
    world.clock.jump(11 * minutes)
    return { victim, thief }
  }

  test("that is used after the person's refresh ends the session of both", async () => {
    const { victim, thief } = await stolen("thief second")
    await victim.session.accessToken()
    world.server.advance(11 * minutes)
    world.clock.jump(11 * minutes)
    expect(await reasonOf(thief.session.accessToken())).toBe("REFRESH_TOKEN_REUSED")
    expect(thief.session.current).toEqual({ is: "loggedOut", reason: "REFRESH_TOKEN_REUSED" })
    expect(await reasonOf(victim.session.accessToken())).toBe("REFRESH_TOKEN_INVALID")
    expect(victim.session.current).toEqual({ is: "loggedOut", reason: "REFRESH_TOKEN_INVALID" })
  })

  test("that is used before the person's refresh is detected when the person refreshes", async () => {
    const { victim, thief } = await stolen("thief first")
    await thief.session.accessToken()
    world.server.advance(11 * minutes)
    world.clock.jump(11 * minutes)
    expect(await reasonOf(victim.session.accessToken())).toBe("REFRESH_TOKEN_REUSED")
  })
})

test.runIf(isLong)(
  "a revoked grant makes the tokens stale: the client refreshes and repeats the call without an error",
  async () => {
    const { server } = world
    const clients = clientsOver(createRestTransport(server.url))
    const root = (await administeredWorld(server, clients)).as("root")
    const signet = world.open(world.browser().tab())
    await world.signIn(signet, "granted")
    const { principal } = await me(signet)
    const appId = server.app.id
    const { role } = await clients.admin.createRole({ appId, role: { key: "reader", permissions: [] } }, root)
    const granted = { appId, principalId: principal?.id ?? "", roleId: role?.id ?? "" }
    const { grant } = await clients.admin.createGrant(granted, root)
    await me(signet)
    await clients.admin.revokeGrant({ appId, grantId: grant?.id ?? "" }, root)
    const calls = world.calls.length
    expect((await me(signet)).principal?.id).toBe(principal?.id)
    expect(world.calls.slice(calls)).toEqual(["Me", "Refresh", "Me"])
  },
)
