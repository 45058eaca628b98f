import { expect, test } from "vitest"
import { createStatementSigner } from "./sign.ts"

/** Signs with a number that counts the calls, so that every signature differs. */
function countedSigner() {
  let calls = 0
  const sign = createStatementSigner({ sign: () => `signature ${++calls}` })
  return (to: number, asOfMs = 1_000) =>
    sign({ issuer: "https://auth.example", log: "log_1", from: 0, to, head: 1_000, asOfMs, entries: [] })
}

test("a statement is signed once per second for all readers, and a different one separately", () => {
  const sign = countedSigner()
  expect([sign(1), sign(1, 1_999), sign(2), sign(1, 2_000)]).toEqual([
    "signature 1",
    "signature 1",
    "signature 2",
    "signature 3",
  ])
})

test("the newest eight statements are kept, however many are signed", () => {
  const sign = countedSigner()
  for (let to = 1; to <= 9; to++) sign(to)
  // The second is the oldest one that is kept. Signing the first again drops it.
  expect([sign(2), sign(9), sign(1), sign(3), sign(2)]).toEqual([
    "signature 2",
    "signature 9",
    "signature 10",
    "signature 3",
    "signature 11",
  ])
})
