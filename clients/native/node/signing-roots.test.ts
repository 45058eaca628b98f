import { createHmac } from "node:crypto"
import type { SecretScope } from "@signet/client"
import { expect, test } from "vitest"
import { testBox } from "../../core/messaging/testing/test-box.ts"
import { memoryStorage } from "../testing/platform.ts"
import { createBoxes } from "./boxes.ts"
import { createSigningRoots } from "./signing-roots.ts"

const ann: SecretScope = { app: "a", user: "ann", device: "1" }
const reference = new Uint8Array(32).fill(7)

test("a key is derived from its reference and the scope's root, in every process, until the scope is destroyed", async () => {
  const [storage, box] = [memoryStorage(), testBox()]
  const roots = [createSigningRoots(storage), createSigningRoots(storage)] as const
  const boxes = roots.map((each) => createBoxes(box, each))
  const held = await Promise.all(boxes.map((each) => each.hold(ann, true)))
  const seeds = roots.map((each, i) => each.seedOf(held[i] ?? 0, reference))
  expect(seeds[0]?.length).toBe(32)
  expect(seeds[1]).toEqual(seeds[0])
  expect(seeds[0]).not.toEqual(createHmac("sha256", Buffer.alloc(32)).update(reference).digest())
  const other = await boxes[0]?.hold({ ...ann, device: "2" }, true)
  expect(roots[0].seedOf(other ?? 0, reference)).not.toEqual(seeds[0])
  boxes[0]?.release(held[0] ?? 0)
  expect(roots[0].seedOf(held[0] ?? 0, reference)).toBeUndefined()
  await boxes[0]?.destroy(ann)
  const again = await boxes[0]?.hold(ann, true)
  expect(roots[0].seedOf(again ?? 0, reference)).not.toEqual(seeds[0])
})
