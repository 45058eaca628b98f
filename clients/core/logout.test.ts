import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { expect, test } from "vitest"
import { createAuthClient } from "./auth-calls.ts"
import { SignetError } from "./errors.ts"
import type { LiveSession } from "./live-session.ts"
import { createLogout } from "./logout.ts"
import { createObservableValue } from "./observable-value.ts"
import { createSessionStore } from "./session-store.ts"
import { memoryBox, memoryLock, memoryStorage, random, testClock } from "./testing/memory-platform.ts"

const user = {
  ...{ sessionId: "ses_1", identityId: "idn_1", principalId: "prn_1" },
  ...{ primaryEmail: undefined, tenantId: undefined, contextId: undefined },
}

/** A stored sign-in, and a service that may be unreachable. */
async function worldOf(place: "cookie" | "box", isAnybody = true) {
  const storage = memoryStorage()
  const refreshToken = place === "cookie" ? ({ in: place } as const) : ({ in: place, box: memoryBox() } as const)
  const of = { appId: "app_1", authBaseUrl: "https://auth.example" }
  const sessions = createSessionStore(of, { storage, refreshToken })
  const kept = { retryKey: "k", generation: 1, tokensGoodUntilMs: 0 }
  const record = { user, refreshToken: place === "box" ? "r" : undefined, ...kept }
  if (isAnybody) await sessions.put(record, "any")
  const told: unknown[] = []
  const ended: string[] = []
  const state = { isUp: true, isBusy: false }
  const wire = () =>
    createRouterTransport(({ service }) => {
      service(AuthService, {
        logout({ appId, refreshToken: token }) {
          if (!state.isUp) throw new ConnectError("down", Code.Unavailable)
          told.push({ appId, token })
          return {}
        },
      })
    })
  const lock = memoryLock()
  const client = createAuthClient(of.authBaseUrl, { clock: testClock(), random, storage, lock, refreshToken, wire })
  const live: LiveSession = {
    states: createObservableValue({ is: "loggedOut", reason: "NOT_SIGNED_IN" }),
    ready: Promise.resolve(),
    token: () => Promise.reject(new Error("not in this test")),
    renewedToken: () => Promise.reject(new Error("not in this test")),
    end: (reason) => ended.push(reason),
    ...{ begin() {}, wake() {}, suspend() {}, close() {} },
  }
  const busy: typeof lock = {
    run: (work) => (state.isBusy ? Promise.reject(new SignetError("LOCK_BUSY", "busy")) : lock.run(work)),
  }
  const parts = { config: of, client, sessions, live }
  return {
    ...{ sessions, record, told, ended, state, live, parts },
    ...createLogout({ ...parts, lock: busy }),
    isDue: async () => (await sessions.loadNote("logout")) !== undefined,
  }
}

test.each([
  ["cookie", { appId: "app_1", token: "" }],
  ["box", { appId: "", token: "r" }],
] as const)("a session by %s ends at the service and here", async (place, told) => {
  const world = await worldOf(place)
  expect(await world.logout()).toEqual({ endedAtService: true })
  expect([world.told, world.ended, await world.isDue()]).toEqual([[told], ["LOGGED_OUT"], false])
  expect(await world.sessions.load()).toBeUndefined()
})

test("without a signed-in user, the service is not called", async () => {
  const world = await worldOf("cookie", false)
  expect(await world.logout()).toEqual({ endedAtService: false })
  expect([world.told, world.ended, await world.isDue()]).toEqual([[], ["LOGGED_OUT"], false])
  world.live.states.set({ is: "signedIn", user })
  expect(await world.logout()).toEqual({ endedAtService: true })
})

test("a cookie whose session could not be ended is ended later, unless a new sign-in replaced it", async () => {
  const world = await worldOf("cookie")
  world.state.isUp = false
  expect(await world.logout()).toEqual({ endedAtService: false })
  await world.finish()
  expect(await world.isDue()).toBe(true)
  world.state.isUp = true
  await Promise.all([world.finish(), world.finish()])
  expect([world.told.length, await world.isDue()]).toEqual([1, false])
  world.state.isUp = false
  await world.sessions.put(world.record, "any")
  await world.logout()
  await world.sessions.put(world.record, "any")
  world.state.isUp = true
  await world.finish()
  expect([world.told.length, await world.isDue()]).toEqual([1, false])
})

test("a token that could not be revoked is deleted, and no later call is recorded", async () => {
  const world = await worldOf("box")
  world.state.isUp = false
  expect(await world.logout()).toEqual({ endedAtService: false })
  expect([await world.sessions.load(), await world.isDue()]).toEqual([undefined, false])
  await world.sessions.putNote("logout", { is: "due" })
  world.state.isUp = true
  await world.finish()
  expect(world.told).toEqual([])
})

test("a lock that is held for too long does not prevent a sign-out", async () => {
  const world = await worldOf("box")
  world.state.isBusy = true
  expect(await world.logout()).toEqual({ endedAtService: true })
  expect(await world.sessions.load()).toBeUndefined()
})

test("a failed removal is reported, and the session has ended locally", async () => {
  const world = await worldOf("box")
  let tries = 0
  world.sessions.remove = async () => {
    tries++
    throw new SignetError("STORE_FAILED", "full")
  }
  await expect(world.logout()).rejects.toMatchObject({ reason: "STORE_FAILED" })
  expect([tries, world.ended]).toEqual([1, ["LOGGED_OUT"]])
})

test.each([
  ["fails", () => Promise.reject(new SignetError("STORE_FAILED", "full"))],
  ["never ends, as in a tab that is closed,", () => new Promise<never>(() => {})],
] as const)(
  "a sign-out whose removal of the session %s has recorded that a cookie is to be ended",
  async (_, remove) => {
    const world = await worldOf("cookie")
    world.state.isUp = false
    const called = Promise.withResolvers<void>()
    const { remove: really } = world.sessions
    world.sessions.remove = () => {
      called.resolve()
      return remove()
    }
    world.logout().catch(() => undefined)
    await called.promise
    expect(await world.isDue()).toBe(true)
    // The session is forgotten all the same, as by a browser that clears it.
    await really("any")
    world.state.isUp = true
    const next = createLogout({ ...world.parts, lock: memoryLock() })
    await next.finish()
    await next.finish()
    expect([world.told.length, await world.isDue()]).toEqual([1, false])
  },
)
