import { newId } from "@signet/kernel/ids"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import { expect, test } from "vitest"
import { toText } from "../../../store/durable/plain.ts"
import { openStream } from "./stream.ts"

test("a socket that closes at once is reopened with growing pauses, until one lasts", async () => {
  let nowMs = 0
  let lastsMs = 0
  const waiting: { ms: number; work: () => void }[] = []
  const pauses: number[] = []
  const end = Promise.withResolvers<void>()
  const deviceId = newId("dev", 0, new Uint8Array(10))
  const stream = openStream(
    {
      open: async (_, on) => ({
        send(text) {
          const { number, conversations } = JSON.parse(text)
          if (conversations.length === 0) return
          setImmediate(() => {
            on.text(toText({ asked: number, hints: [], unheard: [] }))
            nowMs += lastsMs
            on.closed()
            const [next] = waiting
            pauses.push(next?.ms ?? -1)
            waiting.length = 0
            lastsMs = pauses.length === 4 ? 60_000 : 0
            if (pauses.length === 6) return end.resolve()
            next?.work()
          })
        },
        close() {},
      }),
      clock: { nowMs: () => nowMs },
      after(ms, work) {
        const one = { ms, work }
        waiting.push(one)
        return () => void waiting.splice(waiting.indexOf(one), waiting.includes(one) ? 1 : 0)
      },
    },
    { deviceId, userIds: [], conversations: new Map([[newId("cnv", 0, new Uint8Array(10)), 0n]]) },
    () => undefined,
  )
  await end.promise
  stream.close()
  expect(pauses).toEqual([100, 200, 400, 800, 100, 200])
})

test("two unanswered requests cause a new socket, and a check of every subscription", async () => {
  let timers: (() => void)[] = []
  const pass = async () => {
    for (const work of timers.splice(0)) work()
    await new Promise(setImmediate)
  }
  const asked: number[] = []
  const beats: string[] = []
  let isThere = true
  let opened = 0
  const hints: Hint[] = []
  const deviceId = newId("dev", 0, new Uint8Array(10))
  const stream = openStream(
    {
      open: async (_, on) => {
        opened++
        return {
          send(text) {
            const { number } = JSON.parse(text)
            asked.push(number)
            const beat = number === 1 && { beat: true }
            if (isThere) setImmediate(() => on.text(toText({ asked: number, hints: [], unheard: [], ...beat })))
          },
          close() {},
        }
      },
      clock: { nowMs: () => 0 },
      onBeat: (id) => beats.push(id),
      after(_, work) {
        timers.push(work)
        return () => {
          timers = timers.filter((one) => one !== work)
        }
      },
    },
    { deviceId, userIds: [], conversations: new Map() },
    (hint) => hints.push(hint),
  )
  await pass()
  for (let i = 0; i < 20; i++) await pass()
  expect([opened, hints]).toEqual([1, []])
  isThere = false
  const before = asked.length
  for (let i = 0; i < 3; i++) await pass()
  expect(asked.length - before).toBe(2)
  isThere = true
  await pass()
  expect([opened, hints]).toEqual([2, [{ is: "member", deviceId }]])
  stream.close()
  expect(timers).toEqual([])
  // Once, as the object requested.
  expect(beats).toEqual([deviceId])
})
