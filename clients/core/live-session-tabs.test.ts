import { describe, expect, test } from "vitest"
import { encodeMessage } from "./messages.ts"
import { minutes, user, worldOf } from "./testing/live-world.ts"
import { memoryChannels, memoryLock, settled } from "./testing/memory-platform.ts"

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

  test("whose refresh waited for another tab's do not refresh again", async () => {
    const { open, presented, clock, says } = await worldOf()
    const same = { random: { bytes: (length: number) => new Uint8Array(length) } }
    const [here, there] = [open(same), open(same)]
    await Promise.all([here.token("auth"), there.token("auth")])
    const answer = Promise.withResolvers<void>()
    says(async () => {
      await answer.promise
      return { refreshToken: "r3", accessTokens: { auth: "auth 2" }, expiresIn: 600 }
    })
    await clock.pass(9 * minutes)
    expect(presented).toHaveLength(2)
    answer.resolve()
    await settled()
    expect(presented).toHaveLength(2)
    expect((await there.token("auth")).token).toBe("auth 2")
    for (const tab of [here, there]) tab.close()
  })

  test("wait for tokens through other messages", async () => {
    const { open, presented, clock, sessions, record } = await worldOf()
    const goodUntilMs = clock.nowMs() + 10 * minutes
    await sessions.put({ ...record, generation: 2, tokensGoodUntilMs: goodUntilMs }, "any")
    const channel = memoryChannels()
    const other = channel()
    const tab = open({ channel: channel() })
    const asked = tab.token("auth")
    await settled()
    other.post({ version: 1, is: "ask", sessionId: "ses_9" })
    await settled()
    const token = { token: "theirs", generation: 2, sinceMs: clock.nowMs(), goodUntilMs }
    other.post(encodeMessage({ is: "tokens", sessionId: "ses_1", tokens: new Map([["auth", token]]) }))
    expect((await asked).token).toBe("theirs")
    expect(presented).toEqual([])
    tab.close()
  })

  test("refresh if the tokens of another tab lack an audience in use", async () => {
    const { open, presented, clock } = await worldOf()
    const [channel, lock] = [memoryChannels(), memoryLock()]
    const other = channel()
    const random = { bytes: (length: number) => new Uint8Array(length) }
    const tab = open({ channel: channel(), lock, random, audiences: ["auth", "svc"] })
    await tab.token("auth")
    const held = Promise.withResolvers<void>()
    void lock.run(() => held.promise)
    // The refresh is due after seven minutes, and waits for the lock until the tokens have expired.
    await clock.pass(10 * minutes)
    const token = { token: "theirs", generation: 5, sinceMs: clock.nowMs(), goodUntilMs: clock.nowMs() + 10 * minutes }
    other.post(encodeMessage({ is: "tokens", sessionId: "ses_1", tokens: new Map([["auth", token]]) }))
    await settled()
    expect(presented).toHaveLength(1)
    held.resolve()
    await settled()
    expect(presented.map(({ audiences }) => audiences)).toEqual([
      ["auth", "svc"],
      ["auth", "svc"],
    ])
    tab.close()
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
