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

/** A clock whose timers all run once per second. */
function secondClock() {
  let timers: (() => void)[] = []
  const state = { nowMs: 0 }
  return {
    clock: { nowMs: () => state.nowMs },
    after(_: number, work: () => void) {
      timers.push(work)
      return () => {
        timers = timers.filter((one) => one !== work)
      }
    },
    async pass(untilMs: number) {
      for (; state.nowMs < untilMs; state.nowMs += 1_000) {
        await new Promise(setImmediate)
        for (const work of timers.splice(0)) work()
        await new Promise(setImmediate)
      }
    },
  }
}
const deviceId = newId("dev", 0, new Uint8Array(10))
const oneConversation = () => ({
  ...{ deviceId, userIds: [] },
  conversations: new Map([[newId("cnv", 0, new Uint8Array(10)), 0n]]),
})

test("a socket that answers other requests but not a subscription is reopened after fifteen seconds", async () => {
  const { clock, after, pass } = secondClock()
  const openedAtMs: number[] = []
  const stream = openStream(
    {
      ...{ clock, after },
      open: async (_, on) => {
        const isFirst = openedAtMs.push(clock.nowMs()) === 1
        return {
          send(text) {
            const { number, conversations } = JSON.parse(text)
            if (isFirst && conversations.length > 0) return
            setImmediate(() => on.text(toText({ asked: number, hints: [], unheard: [] })))
          },
          close() {},
        }
      },
    },
    oneConversation(),
    () => undefined,
  )
  await pass(60_000)
  stream.close()
  // Once more than fifteen seconds have passed; the next socket answers.
  expect(openedAtMs).toEqual([0, 17_000])
})

test("a renewal requests the events since the last confirmed request, less the clock difference", async () => {
  const { clock, after, pass } = secondClock()
  const sinceMs: number[] = []
  const stream = openStream(
    {
      ...{ clock, after },
      open: async (_, on) => ({
        send(text) {
          const { number, conversations } = JSON.parse(text)
          const [one] = conversations
          const isUnheard = one !== undefined && sinceMs.push(one.sinceMs) === 2
          const unheard = isUnheard ? [one.id] : []
          setImmediate(() => on.text(toText({ asked: number, hints: [], unheard })))
        },
        close() {},
      }),
    },
    oneConversation(),
    () => undefined,
  )
  await pass(100_000)
  stream.close()
  // Requested at 0, 30, 60 and 90 seconds. The second request was not confirmed.
  expect(sinceMs).toEqual([-1_000, -1_000, -1_000, 59_000])
})

test("a stream that was closed while its socket opened closes the socket", async () => {
  const { clock, after, pass } = secondClock()
  const opening = Promise.withResolvers<void>()
  const [sent, closed]: [string[], number[]] = [[], []]
  const open = async () => {
    await opening.promise
    return { send: (text: string) => void sent.push(text), close: () => void closed.push(clock.nowMs()) }
  }
  openStream({ ...{ clock, after }, open }, oneConversation(), () => undefined).close()
  opening.resolve()
  await pass(5_000)
  expect([sent, closed]).toEqual([[], [0]])
})
