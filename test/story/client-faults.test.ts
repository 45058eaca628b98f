// For each failure of each store operation, the person stays signed in and no token is lost.
import type { ByteStorage } from "@signet/client"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { faultKinds, faultyStorage } from "../../clients/core/testing/fault.ts"
import { memoryLock } from "../../clients/core/testing/memory-platform.ts"
import { type ClientWorld, startClientWorld } from "../support/client-world.ts"
import { storyStore } from "../support/postgres.ts"

let world: ClientWorld
beforeAll(async () => {
  world = await startClientWorld({ store: storyStore })
})
afterAll(() => world?.close())

const passMinutes = (minutes: number) => {
  world.server.advance(minutes * 60_000)
  world.clock.jump(minutes * 60_000)
}

describe("at every operation of the store during a refresh", () => {
  test.each(faultKinds)("if it %s, the next refresh and a restart work", async (kind) => {
    for (let k = 0, isMet = true; isMet; k++) {
      const browser = world.browser()
      const storage = faultyStorage(browser.storage)
      const lock = memoryLock()
      const first = world.open(browser.tab({ storage, lock }))
      await world.signIn(first, `${kind} ${k}`)
      passMinutes(9.9)
      storage.arm(k, kind)
      const refreshed = first.session.accessToken().catch(() => undefined)
      isMet = (await Promise.race([storage.met, refreshed])) === true
      storage.arm(Number.POSITIVE_INFINITY, kind)
      // A stopped process does nothing more; the others get a lock that it no longer holds.
      if (kind.startsWith("fails")) {
        await refreshed
        passMinutes(9.9)
        expect(await first.session.accessToken()).toBeTruthy()
        expect(first.session.current.is).toBe("signedIn")
      }
      first.close()
      const again = world.open(browser.tab({ channel: undefined }))
      passMinutes(9.9)
      expect(await again.session.accessToken()).toBeTruthy()
      passMinutes(9.9)
      expect(await again.session.accessToken()).toBeTruthy()
    }
  })
})

test("while the disk is full no unstored token is presented, no old token is reused, and the person stays signed in", async () => {
  const browser = world.browser()
  let isFull = false
  const storage: ByteStorage = {
    ...browser.storage,
    write: (...of) => (isFull ? Promise.reject(new Error("the disk is full")) : browser.storage.write(...of)),
  }
  const first = world.open(browser.tab({ storage }))
  await world.signIn(first, "full")
  isFull = true
  passMinutes(11)
  const before = world.calls.length
  expect(await first.session.accessToken()).toBeTruthy()
  for (let i = 0; i < 4; i++) {
    passMinutes(11)
    await expect(first.session.accessToken()).rejects.toMatchObject({ reason: "STORE_FAILED" })
  }
  expect([world.calls.length - before, first.session.current.is]).toEqual([1, "signedIn"])
  isFull = false
  expect(await first.session.accessToken()).toBeTruthy()
  first.close()
  const again = world.open(browser.tab({ channel: undefined }))
  passMinutes(11)
  expect(await again.session.accessToken()).toBeTruthy()
})
