import { expect, test } from "vitest"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { encodeSecrets } from "../mls.ts"
import { contains, roomOf } from "../testing/cast.ts"
import { opened } from "./state.ts"

const suite = makeNodeSuite()

/** Copies the private keys of a member's ancestors. */
async function ancestorKeys(room: Awaited<ReturnType<typeof roomOf>>, name: string): Promise<Uint8Array[]> {
  const { privateKeys } = opened(room.seat(name).current())
  return [...privateKeys].filter(([node]) => node % 2 === 1).map(([, key]) => Uint8Array.from(key))
}

test("private keys of nodes that another member replaced are wiped", async () => {
  const cast = await roomOf(suite, "A", "B", "C", "D")
  for (const by of ["A", "B", "C"]) await cast.room.update(by)
  const shared = (await ancestorKeys(cast, "A")).at(-1)
  if (shared === undefined) throw new Error("A knows the root")
  await cast.room.update("D")
  expect(contains(encodeSecrets(cast.seat("A").current()), shared)).toBe(false)
})

test("private keys of nodes that a removal blanked are wiped", async () => {
  const cast = await roomOf(suite, "A", "B", "C", "D")
  for (const by of ["A", "B", "C"]) await cast.room.update(by)
  const before = await ancestorKeys(cast, "A")
  expect(before).toHaveLength(2)
  await cast.room.remove("C", ["B"])
  const written = encodeSecrets(cast.seat("A").current())
  expect(before.filter((key) => contains(written, key))).toEqual([])
})
