import { Refused } from "@signet/kernel/errors"
import { newId } from "@signet/kernel/ids"
import { decideRevocation } from "@signet/kernel/messaging/directive"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { retried } from "../retry.ts"
import { missedHints } from "./missed.ts"
import {
  changeOf,
  newCommit,
  newList,
  newMessage,
  nowMs,
  putGroup,
  putUser,
  random,
  signReceipt,
} from "./testing/world.ts"

describeOnEachStore("what streams were not told of", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterAll(() => opened.close())

  test("is found by their subscriptions: heads, welcomes, memberships, lists, directives, revocations", async () => {
    const { userId, devices } = await putUser(opened.messaging, 2)
    const [one, other] = [devices[0] ?? expect.fail(), devices[1] ?? expect.fail()]
    const { conversations } = opened.messaging
    const group = await putGroup(opened.messaging, [one])
    const quiet = await putGroup(opened.messaging, [one])
    await conversations.append(newMessage(group, one), signReceipt, nowMs, [])
    const missed = missedHints(opened.db)
    const known = new Map([
      [group.id, 1n],
      [quiet.id, 1n],
      [newId("cnv", nowMs, random(10)), 0n],
    ])
    expect(await missed.heads(known)).toEqual([{ conversationId: group.id, headSeq: 2n }])
    expect(await missed.heads(new Map([[group.id, 2n]]))).toEqual([])

    const of = { deviceIds: [other.id], userIds: [userId], conversationIds: [group.id] }
    const list = { hint: { is: "deviceList", userId, version: 2n }, mark: "2" }
    expect(await missed.rest(of)).toEqual([list])
    const leaf = { leafIndex: 1, deviceId: other.id, userId, credentialHash: random(), joinedEpoch: 2n }
    const add = newCommit(group, one, [...group.roster, leaf])
    await conversations.append(add, signReceipt, nowMs, [])
    const asked = { id: newId("dir", nowMs, random(10)), userId, deviceId: other.id, nowMs }
    await conversations.decideDirective(
      group.id,
      (found) => decideRevocation(found, asked),
      () => null,
    )
    const revoked = { ...other, status: "REVOKED" as const, revokedAtMs: nowMs }
    await opened.messaging.devices.change(changeOf(revoked, { list: newList(3n) }))
    const welcomeId = add.commit?.welcomes[0]?.id
    expect(await missed.rest(of)).toEqual([
      { hint: { is: "welcome", deviceId: other.id, welcomeId, conversationId: group.id }, mark: "" },
      { hint: { is: "revoked", deviceId: other.id }, mark: "" },
      { hint: { is: "member", deviceId: other.id }, mark: "1" },
      { hint: { is: "deviceList", userId, version: 3n }, mark: "3" },
      { hint: { is: "directive", conversationId: group.id, directiveId: asked.id }, mark: "" },
    ])
    expect(await missed.rest({ deviceIds: [], userIds: [], conversationIds: [] })).toEqual([])
  })
})

test.each(["53100", "54000", "ENOSPC"])("a full disk is refused as STORAGE_FULL (%s)", async (code) => {
  const full = () => Promise.reject(Object.assign(new Error("full"), { code }))
  await expect(retried(full)).rejects.toSatisfy((error) => error instanceof Refused && error.reason === "STORAGE_FULL")
})
