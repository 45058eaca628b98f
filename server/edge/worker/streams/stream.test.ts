import { newId } from "@signet/kernel/ids"
import { expect, test } from "vitest"
import { toText } from "../../../store/durable/plain.ts"
import { openStream } from "./stream.ts"

test("a socket that is closed as soon as it answered is opened again later and later, until one lasts", async () => {
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
          const { number } = JSON.parse(text)
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
