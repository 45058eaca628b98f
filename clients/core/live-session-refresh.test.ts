import { describe, expect, test } from "vitest"
import { minutes, user, worldOf } from "./testing/live-world.ts"
import { memoryChannels, memoryLock, settled } from "./testing/memory-platform.ts"

describe("tokens are refreshed", () => {
  test("before they expire, at a random time, in the background", async () => {
    const moments: number[] = []
    for (let i = 0; i < 12; i++) {
      const { clock, open, presented } = await worldOf()
      const live = open()
      await live.token("auth")
      const startMs = clock.nowMs()
      while (presented.length < 2) await clock.pass(15_000)
      moments.push((clock.nowMs() - startMs) / minutes)
      live.close()
    }
    expect(Math.min(...moments)).toBeGreaterThanOrEqual(7)
    expect(Math.max(...moments)).toBeLessThanOrEqual(9.25)
    expect(new Set(moments).size).toBeGreaterThan(3)
  })

  test("once for concurrent callers, with the stored retry key", async () => {
    const { open, presented, sessions } = await worldOf()
    const live = open()
    const tokens = await Promise.all(Array.from({ length: 20 }, () => live.token("auth")))
    expect(new Set(tokens.map(({ token }) => token)).size).toBe(1)
    expect(presented).toEqual([{ token: "r", retryKey: "k", audiences: ["auth"] }])
    const { record } = (await sessions.load()) ?? {}
    expect(record).toMatchObject({ refreshToken: "r'", generation: 2 })
    expect(record?.retryKey).toMatch(/^[\w-]{22}$/)
    live.close()
  })

  test("for a new audience together with all in use, at most eight", async () => {
    const { open, presented } = await worldOf()
    const live = open()
    for (let i = 0; i < 10; i++) await live.token(`svc-${i}`)
    expect(presented.at(1)?.audiences).toEqual(["svc-1", "auth", "svc-0"])
    expect(presented.at(-1)?.audiences).toHaveLength(8)
    expect((await live.token("svc-0")).token).toBeTruthy()
    live.close()
  })

  test("again after a failure, with growing pauses or as the service demands", async () => {
    const { clock, open, presented, says, refuses } = await worldOf()
    const live = open()
    await live.token("auth")
    refuses("UNREACHABLE")
    await clock.pass(9 * minutes + 1_000)
    const tries = presented.length - 1
    await clock.pass(5 * minutes)
    expect(tries).toBeGreaterThanOrEqual(1)
    expect(presented.length - 1).toBeGreaterThan(tries)
    expect(presented.length).toBeLessThan(24)
    expect(live.states.current.is).toBe("signedIn")
    refuses("RATE_LIMITED", 20 * minutes)
    await clock.pass(2 * minutes)
    const before = presented.length
    await clock.pass(10 * minutes)
    expect(presented.length).toBe(before)
    says(async () => ({ refreshToken: "r2", accessTokens: { auth: "again" }, expiresIn: 600 }))
    await clock.pass(10 * minutes)
    expect((await live.token("auth")).token).toBe("again")
    live.close()
  })

  test("once, for a service that rejects all of them", async () => {
    const { open, presented, clock } = await worldOf()
    const live = open()
    let token = await live.token("auth")
    for (let i = 0; i < 10; i++) token = await live.token("auth", token)
    expect(presented).toHaveLength(2)
    await clock.pass(6_000)
    await live.token("auth", token)
    expect(presented).toHaveLength(3)
    live.close()
  })
})

test("a rejected token is not returned again, and two concurrent rejections both get another", async () => {
  const { open, presented, clock } = await worldOf()
  const live = open()
  const first = await live.token("auth")
  const both = await Promise.all([live.token("auth", first), live.token("auth", first)])
  expect(both.map(({ token }) => token)).toEqual(["auth 2", "auth 2"])
  await clock.pass(6_000)
  expect((await live.token("auth", first)).token).toBe("auth 2")
  expect(presented).toHaveLength(2)
  live.close()
})

test("a renewal gets another token, also right after a rejection or another renewal", async () => {
  const { open } = await worldOf()
  const live = open()
  expect((await live.token("auth", await live.token("auth"))).token).toBe("auth 2")
  const both = await Promise.all([live.renewedToken("auth"), live.renewedToken("auth")])
  expect(both.map(({ token }) => token)).toEqual(["auth 3", "auth 3"])
  expect((await live.renewedToken("auth")).token).toBe("auth 4")
  expect((await live.token("auth")).token).toBe("auth 4")
  live.close()
})

test("another user's sign-in that a refresh finds has its own tokens", async () => {
  const { open, sessions, record, refuses, says } = await worldOf()
  const live = open({ channel: undefined })
  await live.token("auth")
  await sessions.put({ ...record, user: user("ses_2"), refreshToken: "s", generation: 9 }, "any")
  refuses("UNREACHABLE")
  await expect(live.token("svc")).rejects.toMatchObject({ reason: "UNREACHABLE" })
  expect(live.states.current).toMatchObject({ user: { sessionId: "ses_2" } })
  says(async () => ({ refreshToken: "s'", accessTokens: { auth: "of ses_2" }, expiresIn: 600 }))
  expect((await live.token("auth")).token).toBe("of ses_2")
  live.close()
})

test("tokens belong to the shown user, also if the store became full during another sign-in", async () => {
  const { open, sessions, record, says, storage } = await worldOf()
  const channel = memoryChannels()
  const live = open({ channel: channel() })
  const shown: unknown[] = []
  live.states.subscribe((state) => shown.push(state.is === "signedIn" && state.user.sessionId))
  says(async () => {
    await sessions.put({ ...record, user: user("ses_2") }, "any")
    channel().post({ version: 1, is: "signedIn" })
    await settled()
    storage.write = () => Promise.reject(new Error("the disk is full"))
    return { refreshToken: "r'", accessTokens: { auth: "of ses_1" }, expiresIn: 600 }
  })
  expect((await live.token("auth")).token).toBe("of ses_1")
  expect(shown).toEqual([false, "ses_1", "ses_2", "ses_1"])
  live.close()
})

test("a sign-out during a waiting refresh wins", async () => {
  const { open, sessions } = await worldOf()
  const lock = memoryLock()
  const live = open({ lock })
  await live.ready
  const end = lock.run(async () => {
    await sessions.remove("any")
    await settled()
    live.end("LOGGED_OUT")
  })
  await expect(live.token("auth")).rejects.toMatchObject({ reason: "NOT_SIGNED_IN" })
  await end
  expect(live.states.current).toEqual({ is: "loggedOut", reason: "LOGGED_OUT" })
  live.close()
})

test("tokens for other audiences are refreshed after the current refresh, one at a time", async () => {
  const { open, presented } = await worldOf()
  const live = open()
  await Promise.all(["svc-1", "svc-2", "svc-1"].map((audience) => live.token(audience)))
  expect(presented.map(({ token, audiences }) => [token, audiences])).toEqual([
    ["r", ["svc-1", "auth"]],
    ["r'", ["svc-2", "auth", "svc-1"]],
  ])
  live.close()
})

test("an answer without the requested audience is an error", async () => {
  const { open, says } = await worldOf()
  const live = open()
  says(async () => ({ refreshToken: "r2", accessTokens: { auth: "token" }, expiresIn: 600 }))
  await expect(live.token("svc")).rejects.toMatchObject({ reason: "ANSWER_INVALID" })
  live.close()
})
