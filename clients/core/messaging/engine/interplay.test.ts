import { expect, test } from "vitest"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { utf8 } from "../crypto/bytes.ts"
import { makeWebSuite } from "../crypto/web-suite.ts"
import { bareSeat } from "../testing/bare-seat.ts"
import { ourSeat } from "../testing/our-seat.ts"
import { openRoom } from "../testing/seat.ts"

test("both crypto providers and the bare engine commit in one group", async () => {
  const node = makeNodeSuite()
  const web = await makeWebSuite()
  const room = await openRoom(await ourSeat(node, "node"), utf8("mixed"))
  await room.add("node", [await bareSeat("bare"), await ourSeat(web, "web"), await ourSeat(node, "node-2")])
  for (const by of ["node", "bare", "web", "node-2"]) {
    await room.update(by)
    await room.say(by, `after the update of ${by}`)
  }
  await room.remove("bare", ["node-2"])
  await room.say("web", "three are left")
  await room.add("bare", [await ourSeat(node, "node-3"), await ourSeat(web, "web-2")])
  await room.say("node-3", "hello")
  await room.remove("web", ["node", "node-3"])
  await room.update("bare")
  for (const by of ["bare", "web", "web-2"]) await room.say(by, `still here: ${by}`)
  expect([...room.seats.keys()].sort()).toEqual(["bare", "web", "web-2"])
})
