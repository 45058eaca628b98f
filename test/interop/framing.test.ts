import { beforeAll, expect, test } from "vitest"
import { bareSeat } from "../../clients/core/messaging/testing/bare-seat.ts"
import type { Seat } from "../../clients/core/messaging/testing/seat.ts"
import { parseCommit } from "../../server/framing/commit.ts"
import { keyPackageRef, parseKeyPackage, verifyKeyPackage } from "../../server/framing/key-package.ts"
import { verifyLeafNode } from "../../server/framing/leaf-node.ts"
import { parseApplication } from "../../server/framing/message.ts"
import { parseTree } from "../../server/framing/tree.ts"
import { parseWelcome } from "../../server/framing/welcome.ts"
import { loadOpenMls, openMlsGroupId, openMlsSeat } from "./openmls-seat.ts"

beforeAll(loadOpenMls)

// What other engines send without being asked for anything special is within V1, and means what they meant.
test.each<[string, (n: number) => Promise<Seat>]>([
  ["OpenMLS", openMlsSeat],
  ["ts-mls as published", (n) => bareSeat(`bare ${n}`)],
])("the server parses the messages of %s", async (_, make) => {
  const [a, b, c] = [await make(1), await make(2), await make(3)]
  await a.create(openMlsGroupId)
  const keyPackages = [await b.keyPackage(), await c.keyPackage()].map((bytes) => ({
    bytes,
    read: parseKeyPackage(bytes),
  }))
  for (const { read } of keyPackages) expect(verifyKeyPackage(read)).toBe(true)
  const references = keyPackages.map(({ read }) => keyPackageRef(read))

  const added = await a.add(keyPackages.map(({ bytes }) => bytes))
  const commit = parseCommit(added.commit)
  expect(commit).toMatchObject({ sender: 0, epoch: 0n, groupId: openMlsGroupId, removes: [] })
  expect(commit.adds.map(keyPackageRef)).toEqual(references)
  const welcome = parseWelcome(added.welcome ?? new Uint8Array())
  expect(new Set(welcome.secrets.map(({ newMember }) => newMember.join()))).toEqual(
    new Set(references.map((r) => r.join())),
  )
  if (added.tree !== undefined) expect(parseTree(added.tree).leaves.size).toBe(3)

  const { path } = parseCommit((await a.update()).commit)
  expect(path && verifyLeafNode(path.leafNode, { groupId: openMlsGroupId, leafIndex: 0 })).toBe(true)
  expect(parseCommit((await a.remove([c.name])).commit).removes).toHaveLength(1)
  expect(parseApplication(await a.encrypt("hello"))).toMatchObject({ epoch: 3n, groupId: openMlsGroupId })
})
