import * as fc from "fast-check"
import { beforeAll, expect, test } from "vitest"
import { histories, play } from "../../clients/core/messaging/testing/history.ts"
import { ourSeat, realTime, testEngine } from "../../clients/core/messaging/testing/our-seat.ts"
import { openRoom } from "../../clients/core/messaging/testing/seat.ts"
import { makeNodeSuite } from "../../clients/node/crypto/suite.ts"
import { effort, isLong } from "../support/effort.ts"
import { clientName, loadOpenMls, openMlsGroupId, openMlsSeat } from "./openmls-seat.ts"

beforeAll(loadOpenMls)

const suite = makeNodeSuite()
const engine = testEngine(suite, realTime)
const ours = (number: number) => ourSeat(suite, clientName(number), { engine, treeInWelcome: true })

test.runIf(isLong)("OpenMLS and our engine apply each other's adds, updates and removals", async () => {
  const [a, b, c, d] = [clientName(1), clientName(2), clientName(3), clientName(4)]
  const room = await openRoom(await ours(1), openMlsGroupId)
  await room.add(a, [await openMlsSeat(2), await ours(3)])
  for (const by of [a, b, c]) await room.say(by, "hello")
  await room.update(b)
  await room.update(c)
  await room.add(b, [await openMlsSeat(4), await ours(5)])
  for (const by of room.seats.keys()) await room.say(by, "five of us")
  await room.remove(d, [c])
  await room.update(a)
  await room.remove(a, [d])
  for (const by of room.seats.keys()) await room.say(by, "three of us")
  expect(room.seats.size).toBe(3)
})

test("a path that omits the root brings both engines to the same epoch", async () => {
  const [a, b, c, d] = [clientName(1), clientName(2), clientName(3), clientName(4)]
  const room = await openRoom(await ours(1), openMlsGroupId)
  await room.add(a, [await ours(2), await ours(3), await openMlsSeat(4)])
  await room.remove(c, [a, b])
  for (const by of [c, d, c]) await room.update(by)
  for (const by of [c, d]) await room.say(by, "the left half of the tree is empty")
})

/** How many later messages OpenMLS reads before it forgets an earlier one's key: core-crypto's setting. */
const openMlsTolerance = 1

test("messages that arrive in another order are read once, by both engines", async () => {
  const [a, b] = [clientName(1), clientName(2)]
  const room = await openRoom(await ours(1), openMlsGroupId)
  await room.add(a, [await openMlsSeat(2)])
  const seat = (name: string) => room.seats.get(name) ?? expect.fail(name)
  const many = Array.from({ length: 40 }, (_, i) => i)
  const order = fc.shuffledSubarray(many, { minLength: many.length })
  await fc.assert(
    fc.asyncProperty(order, async (arrivals) => {
      await room.update(b)
      const messages: Uint8Array[] = []
      for (const number of many) messages.push(await seat(b).encrypt(`message ${number}`))
      for (const number of arrivals) {
        const message = messages[number] ?? expect.fail()
        expect(await seat(a).decrypt(message)).toEqual({ text: `message ${number}`, sender: b })
        await expect(seat(a).decrypt(message)).rejects.toMatchObject({ reason: "REPLAY" })
      }
    }),
    { numRuns: effort(2, 10, 100) },
  )
  // OpenMLS reads the later of two first, and none of them twice.
  await room.update(a)
  const messages: Uint8Array[] = []
  for (let number = 0; number <= openMlsTolerance; number++) messages.push(await seat(a).encrypt(`late ${number}`))
  for (const [at, message] of [...messages.entries()].toReversed()) {
    expect(await seat(b).decrypt(message)).toEqual({ text: `late ${at}`, sender: a })
    const again = seat(b).decrypt(message)
    await expect(again).rejects.toMatchObject({ inner: { mlsError: { tag: "DuplicateMessage" } } })
  }
})

// The room compares rosters after every commit; agreement on the epoch shows in every message being read by all.
test.runIf(isLong)(
  "random histories with commits from both engines show no difference",
  async () => {
    const size = effort(
      { runs: 2, steps: 40, members: 9 },
      { runs: 20, steps: 60, members: 12 },
      { runs: 40, steps: 400, members: 40 },
    )
    await fc.assert(
      fc.asyncProperty(histories({ min: size.steps / 2, max: size.steps }), async (steps) => {
        const room = await openRoom(await ours(1), openMlsGroupId)
        await play(room, steps, (n) => (n % 2 === 1 ? openMlsSeat(n + 1) : ours(n + 1)), size.members)
        for (const by of room.seats.keys()) await room.say(by, "the end")
      }),
      { numRuns: size.runs },
    )
  },
  effort(60_000, 600_000, 3600_000),
)
