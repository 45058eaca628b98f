import { expect, test } from "vitest"
import type { Tokens } from "./auth-calls.ts"
import type { SessionRecord } from "./record.ts"
import { createRefresher } from "./refresh.ts"
import { createSessionStore } from "./session-store.ts"
import { memoryBox, memoryLock, memoryStorage, random, testClock } from "./testing/memory-platform.ts"

const user = {
  ...{ sessionId: "ses_1", identityId: "idn_1", principalId: "prn_1" },
  ...{ primaryEmail: undefined, tenantId: undefined, contextId: undefined },
}
const record: SessionRecord = { user, refreshToken: "r", retryKey: "k", generation: 1, tokensGoodUntilMs: 0 }
const of = { appId: "app_1", authBaseUrl: "https://auth.example" }

/** A service that issues the next token for each one, and a store that may be full. */
async function worldOf(during: (round: number) => Promise<unknown> = async () => undefined) {
  const storage = memoryStorage()
  const { write } = storage
  const sessions = createSessionStore(of, { storage, refreshToken: { in: "box", box: memoryBox() } })
  await sessions.put(record, "any")
  const clock = testClock()
  const refresher = createRefresher({ sessions, lock: memoryLock(), clock, random })
  const presented: string[] = []
  const retryKeys: string[] = []
  const present = async ({ refreshToken, retryKey }: SessionRecord): Promise<Tokens> => {
    retryKeys.push(retryKey)
    presented.push(`${refreshToken} ${retryKey === "k" ? "first" : "next"}`)
    await during(presented.length)
    return { refreshToken: `${refreshToken}'`, accessTokens: { auth: "token" }, expiresIn: 600 }
  }
  return {
    ...{ sessions, presented, retryKeys, clock },
    refresh: (isEnough = false) => refresher.refresh({ isEnough: async () => isEnough, present }),
    /** The next write follows another process's write. */
    overtake(by: SessionRecord) {
      storage.write = async (name, bytes, expected) => {
        storage.write = write
        await sessions.put(by, "any")
        return write(name, bytes, expected)
      }
    },
    full(isFull: boolean) {
      storage.write = isFull ? () => Promise.reject(new Error("the disk is full")) : write
    },
  }
}

test("an unsaved answer is stored before it is presented, and never over another's record", async () => {
  const world = await worldOf()
  world.full(true)
  expect(await world.refresh()).toMatchObject({ is: "refreshed" })
  // Nothing is presented before it is stored.
  await expect(world.refresh()).rejects.toMatchObject({ reason: "STORE_FAILED" })
  expect(world.presented).toEqual(["r first"])
  world.full(false)
  expect(await world.refresh()).toMatchObject({ is: "refreshed", kept: { record: { refreshToken: "r''" } } })
  expect(world.presented).toEqual(["r first", "r' next"])
  expect(await world.refresh()).toMatchObject({ is: "refreshed" })
  expect(world.presented.at(-1)).toBe("r'' next")

  const raced = await worldOf()
  raced.full(true)
  await raced.refresh()
  raced.full(false)
  await raced.sessions.put({ ...record, refreshToken: "s", generation: 5 }, "any")
  expect(await raced.refresh()).toMatchObject({ kept: { record: { refreshToken: "s'", generation: 6 } } })
})

test("an unsaved answer is dropped when another process has stored one", async () => {
  const world = await worldOf()
  world.full(true)
  await world.refresh()
  world.full(false)
  world.overtake({ ...record, refreshToken: "s", generation: 5 })
  expect(await world.refresh()).toMatchObject({ kept: { record: { refreshToken: "s'", generation: 6 } } })
  expect(world.presented).toEqual(["r first", "s first"])
})

test("a concurrent refresh suffices: nothing is presented", async () => {
  const world = await worldOf()
  expect(await world.refresh(true)).toMatchObject({ is: "enough", kept: { record } })
  expect(world.presented).toEqual([])
})

test("the stored record has the expiry of the tokens", async () => {
  const world = await worldOf()
  await world.refresh()
  expect((await world.sessions.load())?.record.tokensGoodUntilMs).toBe(world.clock.nowMs() + 600_000)
})

test("each token has a random retry key of its own", async () => {
  const world = await worldOf()
  for (let i = 0; i < 4; i++) await world.refresh()
  const made = world.retryKeys.slice(1)
  expect(new Set(made).size).toBe(3)
  for (const key of made) expect(key).toMatch(/^[\w-]{22}$/)
})

test("a generation is above the last one of this process and of the store", async () => {
  const world = await worldOf()
  await world.refresh()
  await world.refresh()
  await world.sessions.put({ ...record, generation: 1 }, "any")
  expect(await world.refresh()).toMatchObject({ kept: { record: { generation: 4 } } })
})

test("a refresh that is overtaken in every round fails, and the session stays", async () => {
  let generation = 1
  const world = await worldOf(() =>
    world.sessions.put({ ...record, refreshToken: "s", generation: ++generation }, "any"),
  )
  await expect(world.refresh()).rejects.toMatchObject({ reason: "LOCK_BUSY" })
  expect(world.presented).toHaveLength(4)
  expect((await world.sessions.load())?.record.refreshToken).toBe("s")
})

test("without a stored record nobody is signed in, and nothing is presented", async () => {
  const world = await worldOf()
  await world.sessions.remove("any")
  expect(await world.refresh()).toEqual({ is: "gone" })
  expect(world.presented).toEqual([])
})
