import { describe, expect, test } from "vitest"
import { SignetError } from "./errors.ts"
import type { SessionStore } from "./session-store.ts"
import { minutes, user, worldOf } from "./testing/live-world.ts"
import { memoryChannels, memoryLock, settled } from "./testing/memory-platform.ts"

describe("a session", () => {
  test.each(["UNREACHABLE", "RATE_LIMITED", "AUDIENCE_NOT_REGISTERED"] as const)(
    "does not end by %s",
    async (reason) => {
      const { open, refuses, sessions } = await worldOf()
      const live = open()
      refuses(reason)
      await expect(live.token("auth")).rejects.toMatchObject({ reason })
      expect([live.states.current.is, (await sessions.load())?.record.refreshToken]).toEqual(["signedIn", "r"])
      live.close()
    },
  )

  test("ends when the service ends it, in every tab and in the store", async () => {
    const { open, refuses, storage } = await worldOf()
    const [here, there] = [open(), open()]
    await Promise.all([here.ready, there.ready])
    refuses("REFRESH_TOKEN_REUSED")
    await expect(here.token("auth")).rejects.toMatchObject({ reason: "REFRESH_TOKEN_REUSED" })
    await settled()
    const ended = { is: "loggedOut", reason: "REFRESH_TOKEN_REUSED" }
    expect([here.states.current, there.states.current]).toEqual([ended, ended])
    expect(storage.all.size).toBe(0)
    here.close()
    there.close()
  })

  test("continues when a frozen lock holder resumes with an old token", async () => {
    const { open, says, sessions, record } = await worldOf()
    const live = open()
    let isFirst = true
    says(async ({ refreshToken }) => {
      if (!isFirst) return { refreshToken: "r4", accessTokens: { auth: `by ${refreshToken}` }, expiresIn: 600 }
      isFirst = false
      // Meanwhile another process has refreshed twice.
      await sessions.put({ ...record, refreshToken: "r3", generation: 3 }, "any")
      throw new SignetError("REFRESH_TOKEN_REUSED", "reused")
    })
    expect((await live.token("auth")).token).toBe("by r3")
    expect((await sessions.load())?.record.refreshToken).toBe("r4")
    live.close()
  })

  test("does not overwrite a newer token in the store", async () => {
    const { open, says, sessions, record } = await worldOf()
    const live = open()
    let isFirst = true
    says(async ({ refreshToken }) => {
      if (isFirst) await sessions.put({ ...record, refreshToken: "r3", generation: 3 }, "any")
      isFirst = false
      return { refreshToken: `${refreshToken}+`, accessTokens: { auth: "token" }, expiresIn: 600 }
    })
    await live.token("auth")
    expect((await sessions.load())?.record.refreshToken).toBe("r3+")
    live.close()
  })

  test("is replaced by another user's sign-in, without mixing their tokens", async () => {
    const { open, sessions, record } = await worldOf()
    const [here, there] = [open(), open()]
    const mine = await here.token("auth")
    const other = { ...record, user: user("ses_2"), refreshToken: "s" }
    there.begin({ revision: (await sessions.put(other, "any")) ?? "", record: other }, new Map())
    await settled()
    expect(here.states.current).toMatchObject({ is: "signedIn", user: { sessionId: "ses_2" } })
    expect((await here.token("auth")).token).not.toBe(mine.token)
    here.close()
    there.close()
  })

  test.each(["in another tab", "here"])("that ended %s stays ended, however slowly its record opens", async (where) => {
    const { open, sessions, record } = await worldOf()
    const channel = memoryChannels()
    const gates: (() => void)[] = []
    let isSlow = false
    const slow: SessionStore = {
      ...sessions,
      async load() {
        const kept = await sessions.load()
        if (isSlow && kept !== undefined) await new Promise<void>((resolve) => gates.push(resolve))
        return kept
      },
    }
    const live = open({ sessions: slow, channel: channel() })
    await live.ready
    isSlow = true
    live.wake()
    await settled()
    await sessions.remove("any")
    if (where === "here") live.end("LOGGED_OUT")
    else channel().post({ version: 1, is: "ended", sessionId: record.user.sessionId, reason: "LOGGED_OUT_ELSEWHERE" })
    await settled()
    for (const open of gates) open()
    await settled()
    expect(live.states.current.is).toBe("loggedOut")
    live.close()
  })

  test("that does not open is not treated as missing, and stays stored", async () => {
    const { open, storage } = await worldOf()
    for (const [name, kept] of storage.all) storage.all.set(name, { ...kept, bytes: new Uint8Array([1]) })
    const live = open()
    await live.ready
    expect(live.states.current).toEqual({ is: "loggedOut", reason: "STORE_FAILED" })
    await expect(live.token("auth")).rejects.toMatchObject({ reason: "STORE_FAILED" })
    expect(storage.all.size).toBe(1)
    live.close()
  })
})

describe("nothing is refreshed", () => {
  test("after the client was closed, also during a refresh", async () => {
    const { open, presented, clock } = await worldOf()
    const live = open()
    const token = live.token("auth")
    await live.ready
    live.close()
    await token
    await clock.pass(20 * minutes)
    expect(presented).toHaveLength(1)
    const other = open()
    await other.token("auth")
    other.close()
    await clock.pass(20 * minutes)
    expect(presented).toHaveLength(2)
  })

  test("after the session has ended in the background", async () => {
    const { open, refuses, clock } = await worldOf()
    let runs = 0
    const lock = memoryLock()
    const live = open({
      lock: {
        run(work) {
          runs++
          return lock.run(work)
        },
      },
    })
    await Promise.all([live.token("auth"), live.token("auth")])
    await live.token("auth")
    expect(runs).toBe(1)
    refuses("REFRESH_TOKEN_REUSED")
    await clock.pass(10 * minutes)
    expect([runs, live.states.current]).toEqual([2, { is: "loggedOut", reason: "REFRESH_TOKEN_REUSED" }])
    await clock.pass(20 * minutes)
    expect(runs).toBe(2)
    live.close()
  })
})

describe("the stored sign-in", () => {
  test("that is missing at a refresh was ended elsewhere", async () => {
    const { open, sessions } = await worldOf()
    const live = open()
    await live.ready
    await sessions.remove("any")
    await expect(live.token("auth")).rejects.toMatchObject({ reason: "NOT_SIGNED_IN" })
    expect(live.states.current).toEqual({ is: "loggedOut", reason: "LOGGED_OUT_ELSEWHERE" })
    live.close()
  })

  test("that temporarily cannot be read ends no known session", async () => {
    const { open, storage } = await worldOf()
    const live = open()
    await live.ready
    storage.read = () => Promise.reject(new Error("locked"))
    live.wake()
    await settled()
    expect(live.states.current.is).toBe("signedIn")
    live.close()
  })

  test("is read again while no user is signed in", async () => {
    const { open, sessions, record } = await worldOf()
    await sessions.remove("any")
    const live = open()
    await expect(live.token("auth")).rejects.toMatchObject({ reason: "NOT_SIGNED_IN" })
    await sessions.put(record, "any")
    expect((await live.token("auth")).token).toBe("auth 1")
    live.close()
  })
})

test("a page that resumes after its tokens' expiry refreshes at once, and a frozen page never", async () => {
  const { open, presented, clock } = await worldOf()
  const live = open()
  await live.token("auth")
  live.wake()
  await settled()
  expect(presented).toHaveLength(1)
  clock.jump(11 * minutes)
  live.wake()
  await settled()
  expect(presented).toHaveLength(2)
  live.suspend()
  await clock.pass(20 * minutes)
  expect(presented).toHaveLength(2)
  live.close()
})
