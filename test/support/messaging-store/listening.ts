// Tests of the initial state of streams for every messaging store.
import type { MessagingStore } from "@signet/kernel/messaging/ports"
import type { MessagingDevice } from "@signet/kernel/messaging/records"
import { expect, test } from "vitest"
import {
  creatorOf,
  newAudit,
  newConversation,
  place,
  putGroup,
  putUser,
} from "../../../server/store/postgres/messaging/testing/world.ts"
import { freshId } from "../../../server/store/postgres/testing/people.ts"

export function listeningSuite(messaging: () => MessagingStore): void {
  const user = async (count = 1) => (await putUser(messaging(), count)).devices
  const first = async () => (await user())[0] ?? expect.fail()
  const whole = { size: 10, after: null, only: null }
  const of = (device: MessagingDevice) => ({ deviceId: device.id, userId: device.userId, place })

  test("covers each conversation of the device with its members, each user once, in pages by id", async () => {
    const { conversations } = messaging()
    const one = await first()
    const others = await user(2)
    const groups = [await putGroup(messaging(), [one, ...others]), await putGroup(messaging(), [one])]
    const [large, small] = groups
    const foreign = await putGroup(messaging(), others)
    const asked = newConversation([one.userId, others[0]?.userId ?? expect.fail()])
    await conversations.create(asked, creatorOf(one.id), newAudit())
    const away = newConversation([one.userId], { tenantId: freshId("ten") })
    await conversations.create(away, creatorOf(one.id), newAudit())

    const memberUsers = await conversations.memberUsers(of(one), whole)
    const ids = [...groups, asked].map(({ id }) => id).sort()
    expect(memberUsers.map(({ conversationId }) => conversationId)).toEqual(ids)
    const at = (id: string | undefined) => memberUsers.find(({ conversationId }) => conversationId === id)
    expect(at(large?.id)?.userIds.toSorted()).toEqual([one.userId, others[0]?.userId].sort())
    expect(at(small?.id)).toMatchObject({ headSeq: 1n, userIds: [one.userId] })
    expect(at(asked.id)).toMatchObject({ headSeq: 0n, userIds: [] })
    expect(await conversations.memberUsers(of(one), { ...whole, size: 2 })).toEqual(memberUsers.slice(0, 2))
    const after = memberUsers[1]?.conversationId ?? null
    expect(await conversations.memberUsers(of(one), { ...whole, after })).toEqual(memberUsers.slice(2))
    expect(await conversations.memberUsers(of(one), { ...whole, only: large?.id ?? null })).toEqual([at(large?.id)])
    for (const only of [foreign.id, away.id]) {
      expect(await conversations.memberUsers(of(one), { ...whole, only })).toEqual([])
    }
  })

  test("has the log's head and the device's cursor", async () => {
    const { conversations } = messaging()
    const one = await first()
    const { id } = await putGroup(messaging(), [one])
    const progress = { conversationId: id, headSeq: 1n, processedSeq: 0n, hasDirectives: false }
    expect(await conversations.logProgress(one.id, [id])).toEqual([progress])
    await conversations.ack(id, one.id, { processedSeq: 1n, processedEpoch: 1n })
    expect(await conversations.logProgress(one.id, [id])).toEqual([{ ...progress, processedSeq: 1n }])
    expect(await conversations.logProgress(one.id, [])).toEqual([])
  })
}
