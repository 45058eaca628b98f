import { expect, test } from "vitest"
import { alice, bob, bytes32, id, phone } from "../../../../proto/canonical/testing/world.ts"
import { idOf } from "../ids.ts"
import { signedEngine as engine, signedLifetime as lifetime, signedIdentity } from "../testing/signed-group.ts"
import { difference, rosterOf, usersIn } from "./roster.ts"

test("the difference of two epochs is the added and the removed members", async () => {
  const [own, other] = [await signedIdentity(), await signedIdentity({ deviceId: id(0x68) })]
  const bobs = await signedIdentity({ userId: bob, deviceId: id(0x69) })
  const add = async (identity: typeof own) => (await engine.newKeyPackage(identity, lifetime)).keyPackage
  const first = await engine.createGroup({ groupId: bytes32(1), identity: own, ...lifetime })
  const added = await engine.add(first, [await add(other), await add(bobs)], { aad: new Uint8Array() })
  const [userId, bobsId] = [idOf("prn", alice), idOf("prn", bob)]
  expect(usersIn(added.next)).toEqual([userId, bobsId])
  expect(rosterOf(added.next).get(idOf("dev", id(0x69)))).toMatchObject({ userId: bobsId, leaf: 2 })
  const newcomers = [
    { userId, deviceId: idOf("dev", id(0x68)) },
    { userId: bobsId, deviceId: idOf("dev", id(0x69)) },
  ]
  expect(difference(first, added.next)).toEqual({ added: newcomers, removed: [] })
  expect(difference(added.next, first)).toEqual({ added: [], removed: newcomers })
  expect([...rosterOf(first).keys()]).toEqual([idOf("dev", phone)])
})
