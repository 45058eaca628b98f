import { describe, expect, test } from "vitest"
import type { Tokens } from "./auth-calls.ts"
import { SignetError } from "./errors.ts"
import { createLiveSession, type LiveSessionDeps } from "./live-session.ts"
import type { SessionRecord } from "./record.ts"
import { createSessionStore, type SessionStore } from "./session-store.ts"
import {
  memoryBox,
  memoryChannels,
  memoryLock,
  memoryStorage,
  random,
  settled,
  testClock,
} from "./testing/memory-platform.ts"

const of = { appId: "app_1", authBaseUrl: "https://auth.example" }
const user = (sessionId: string) => ({
  ...{ sessionId, identityId: "idn_1", principalId: "prn_1" },
  ...{ primaryEmail: undefined, tenantId: undefined, contextId: undefined },
})

/** A stored sign-in, and a service with a test's answers. */
async function worldOf() {
  const clock = testClock()
  const storage = memoryStorage()
  const lock = memoryLock()
  const channel = memoryChannels()
  const sessions = createSessionStore(of, { storage, refreshToken: { in: "box", box: memoryBox() } })
  const presented: { token: string | undefined; retryKey: string; audiences: readonly string[] }[] = []
  let answer = async (record: SessionRecord, audiences: readonly string[]): Promise<Tokens> => ({
    refreshToken: `${record.refreshToken}'`,
    accessTokens: Object.fromEntries(audiences.map((audience) => [audience, `${audience} ${presented.length}`])),
    expiresIn: 600,
  })
  const open = (change: Partial<LiveSessionDeps> = {}) =>
    createLiveSession({
      ...{ clock, random, lock, sessions, audiences: ["auth"], channel: channel() },
      present(record, audiences) {
        presented.push({ token: record.refreshToken, retryKey: record.retryKey, audiences })
        return answer(record, audiences)
      },
      ...change,
    })
  const record = { user: user("ses_1"), refreshToken: "r", retryKey: "k", generation: 1, tokensGoodUntilMs: 0 }
  await sessions.put(record, "any")
  return {
    ...{ clock, sessions, storage, presented, open, record },
    says(next: typeof answer) {
      answer = next
    },
    refuses(
      reason: "RATE_LIMITED" | "UNREACHABLE" | "AUDIENCE_NOT_REGISTERED" | "REFRESH_TOKEN_REUSED",
      retryAfterMs?: number,
    ) {
      answer = async () => {
        throw new SignetError(reason, "no", { retryAfterMs })
      }
    },
  }
}
const minutes = 60_000

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

test("a message of another page of the origin is accepted only if valid", async () => {
  const { open, sessions } = await worldOf()
  const channel = memoryChannels()
  const live = open({ channel: channel() })
  await live.ready
  const seen: string[] = []
  live.states.subscribe(({ is }) => seen.push(is))
  const stranger = channel()
  const of = { version: 1, sessionId: "ses_1" }
  for (const message of [
    null,
    "text",
    { ...of, is: "tokens", tokens: "all" },
    { ...of, is: "tokens", tokens: [["auth", { token: 1 }]] },
    { ...of, version: 2, is: "ended", reason: "LOGGED_OUT" },
    // The store contradicts it.
    { ...of, is: "ended", reason: "LOGGED_OUT" },
    { is: "signedIn", version: 1 },
  ]) {
    stranger.post(message)
  }
  await settled()
  expect(seen).toEqual(["signedIn"])
  expect(await sessions.load()).toBeDefined()
  live.close()
})

describe("tokens that other tabs post", () => {
  const posted = (sessionId: string, generation: number) => ({
    ...{ version: 1, is: "tokens", sessionId },
    tokens: [["auth", { token: "posted", generation, sinceMs: 0, goodUntilMs: 9e15 }]],
  })

  test("are accepted if they are newer and of the same session", async () => {
    const { open } = await worldOf()
    const channel = memoryChannels()
    const live = open({ channel: channel() })
    const { token } = await live.token("auth")
    const stranger = channel()
    stranger.post(posted("ses_1", 1))
    stranger.post(posted("ses_2", 9))
    await settled()
    expect((await live.token("auth")).token).toBe(token)
    stranger.post(posted("ses_1", 2))
    await settled()
    expect((await live.token("auth")).token).toBe("posted")
    live.close()
  })

  test("of an unknown session are accepted after a read of the store", async () => {
    const { open, sessions, record, presented } = await worldOf()
    const channel = memoryChannels()
    const live = open({ channel: channel() })
    await live.ready
    await sessions.put({ ...record, user: user("ses_2") }, "any")
    channel().post(posted("ses_2", 9))
    await settled()
    expect([live.states.current, (await live.token("auth")).token]).toMatchObject([
      { user: { sessionId: "ses_2" } },
      "posted",
    ])
    expect(presented).toEqual([])
    live.close()
  })

  test("are sent only to tabs of the same session, while they are valid", async () => {
    const { open, clock } = await worldOf()
    const channel = memoryChannels()
    const live = open({ channel: channel() })
    const [stranger, heard] = [channel(), [] as unknown[]]
    stranger.subscribe((message) => heard.push(message))
    await live.token("auth")
    await settled()
    expect(heard.splice(0)).toMatchObject([{ is: "tokens", tokens: [["auth", { token: "auth 1" }]] }])
    const ask = async (sessionId: string) => {
      stranger.post({ version: 1, is: "ask", sessionId })
      await settled()
      return heard.splice(0)
    }
    expect(await ask("ses_2")).toEqual([])
    expect(await ask("ses_1")).toMatchObject([{ is: "tokens", tokens: [["auth", { token: "auth 1" }]] }])
    clock.jump(11 * minutes)
    expect(await ask("ses_1")).toMatchObject([{ is: "tokens", tokens: [] }])
    live.close()
  })
})

describe("two tabs", () => {
  test("refresh once, whether one was earlier, asks, or waits for the lock", async () => {
    const { open, presented } = await worldOf()
    const [here, there] = [open(), open()]
    const both = await Promise.all([here.token("auth"), there.token("auth")])
    expect(both.map(({ token }) => token)).toEqual(["auth 1", "auth 1"])
    const late = open()
    expect((await late.token("auth")).token).toBe("auth 1")
    expect(presented).toHaveLength(1)
    for (const tab of [here, there, late]) tab.close()
  })

  test("whose tokens are due at the same moment refresh once", async () => {
    const { open, presented, clock } = await worldOf()
    const same = { random: { bytes: (length: number) => new Uint8Array(length) } }
    const [here, there] = [open(same), open(same)]
    await Promise.all([here.token("auth"), there.token("auth")])
    await clock.pass(9 * minutes)
    expect(presented).toHaveLength(2)
    for (const tab of [here, there]) tab.close()
  })

  test("without an answer refresh after a delay, without a channel at once", async () => {
    const { open, presented, clock } = await worldOf()
    const [here, alone] = [open(), open({ channel: undefined })]
    await here.token("auth")
    here.suspend()
    expect((await alone.token("auth")).token).toBe("auth 2")
    const late = open()
    const asked = late.token("auth")
    await settled()
    expect(presented).toHaveLength(2)
    await clock.pass(150)
    expect((await asked).token).toBe("auth 3")
    for (const tab of [here, alone, late]) tab.close()
  })

  test("are notified of a sign-in, with the tokens, and of a sign-out", async () => {
    const { open, sessions, presented, record } = await worldOf()
    await sessions.remove("any")
    const channel = memoryChannels()
    const [here, there, stranger] = [open({ channel: channel() }), open({ channel: channel() }), channel()]
    const heard: unknown[] = []
    stranger.subscribe((message) => heard.push(message))
    await Promise.all([here.ready, there.ready])
    const revision = (await sessions.put(record, "any")) ?? ""
    const token = { token: "first", generation: 1, sinceMs: 0, goodUntilMs: 9e15 }
    here.begin({ revision, record }, new Map([["auth", token]]))
    await settled()
    for (const tab of [here, there]) {
      expect([tab.states.current.is, (await tab.token("auth")).token]).toEqual(["signedIn", "first"])
    }
    expect([presented, heard]).toMatchObject([[], [{ is: "signedIn" }, { is: "tokens" }]])
    await sessions.remove("any")
    const shown: string[] = []
    here.states.subscribe(({ is }) => shown.push(is))
    here.end("LOGGED_OUT")
    here.end("LOGGED_OUT")
    expect(shown).toEqual(["signedIn", "loggedOut"])
    await settled()
    expect(here.states.current).toEqual({ is: "loggedOut", reason: "LOGGED_OUT" })
    expect(there.states.current).toEqual({ is: "loggedOut", reason: "LOGGED_OUT_ELSEWHERE" })
    expect(heard.slice(2)).toMatchObject([{ is: "ended", sessionId: "ses_1" }])
    for (const tab of [here, there]) tab.close()
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
