import assert from "node:assert/strict"
import { LimitExceededSchema } from "@signet/proto/messaging/v1/conflict"
import { newClaimId } from "../../support/messaging/committing.ts"
import { randomBytes } from "../../support/messaging/device-parts.ts"
import * as scene from "../scene.ts"
import { refusal, refuses } from "../scene.ts"

export const cases = scene.cases("limits", {
  async "every limit is published"({ anonymous }) {
    const { limits } = await anonymous.conversations.getLimits({})
    const { $typeName: _, ...told } = limits ?? assert.fail("no limits")
    assert.deepEqual(
      Object.entries(told).filter(([, value]) => !value || value === 0n),
      [],
    )
    assert.deepEqual([told.applicationMessageBytes, told.streamsPerDevice], [262_144, 4])
  },
  async "a message of 220 KiB is accepted, and one of more than 256 KiB is refused"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    await one.send(room, "x".repeat(220 * 1_024))
    await two.sync(two.room(room.id))
    assert.equal(two.room(room.id).read[0]?.text.length, 220 * 1_024)
    const said = await one.stageText(room, "small")
    const large = { ...said, payload: { case: "application", value: randomBytes(262_145) } } as const
    await refuses("INVALID_FIELD", one.append(large))
  },
  async "a request of more than 4 MiB is refused before it is read"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const { request } = await one.stageUpdate(room)
    const { value } = request.payload
    const payload = { case: "commit", value: { ...value, tree: randomBytes(4_194_305) } } as const
    const refused = await refusal(one.append({ ...request, payload }))
    assert.match(refused.reason, /^(BODY_TOO_LARGE|INVALID_FIELD)$/)
  },
  async "a page has at most two hundred entries"({ device }) {
    const one = await device({ keyPackages: 0 })
    await refuses("INVALID_FIELD", one.calls.devices.listDevices({ pageSize: 201 }))
    await refuses("INVALID_FIELD", one.calls.welcomes.listWelcomes({ pageSize: 201 }))
    await refuses("INVALID_FIELD", one.calls.conversations.listConversations({ pageSize: 201 }))
    const list = { conversationId: "cnv_00000000000000000000000000", limit: 201 }
    await refuses("INVALID_FIELD", one.calls.conversations.listMessages(list))
  },
  async "ids have the prefix of their kind"({ device }) {
    const one = await device({ keyPackages: 0 })
    const { conversations, devices, welcomes } = one.calls
    for (const id of ["", "x", "dev_00000000000000000000000000", "cnv_80000000000000000000000000"]) {
      if (id !== "") await refuses("INVALID_FIELD", conversations.getConversation({ conversationId: id }))
      await refuses(
        "INVALID_FIELD",
        conversations.createConversation({
          kind: { case: "group", value: { userIds: [] } },
          idempotencyKey: randomBytes(16),
          claimId: id,
        }),
      )
    }
    await refuses("INVALID_FIELD", devices.revokeDevice({ deviceId: one.userId }))
    await refuses("INVALID_FIELD", welcomes.consumeWelcome({ welcomeId: one.id, idempotencyKey: randomBytes(16) }))
  },
  async "idempotency keys have sixteen bytes"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const said = await one.stageText(room, "hello")
    for (const length of [0, 15, 17]) {
      await refuses("INVALID_FIELD", one.append({ ...said, idempotencyKey: randomBytes(length) }))
    }
  },
  async "a request contains exactly one change"({ pair, group }) {
    const [one, two] = await pair()
    const { id: conversationId } = await group(one, two)
    await refuses("INVALID_FIELD", one.calls.conversations.authorizeMembership({ conversationId, baseEpoch: 1n }))
    await refuses(
      "INVALID_FIELD",
      one.calls.conversations.createConversation({ idempotencyKey: randomBytes(16), claimId: newClaimId() }),
    )
  },
  async "a refusal contains the exceeded limit"({ device }) {
    const one = await device({ keyPackages: 0 })
    const packages = Array.from({ length: 2 }, () => ({ keyPackage: randomBytes(8_193) }))
    await refuses("INVALID_FIELD", one.calls.keyPackages.uploadKeyPackages({ packages }))
    const last = await one.newKeyPackages(2, { isLastResort: true })
    const two = last.map(({ keyPackage }) => ({ keyPackage, isLastResort: true }))
    const { error } = await refuses("LIMIT_EXCEEDED", one.calls.keyPackages.uploadKeyPackages({ packages: two }))
    assert.equal(error.findDetails(LimitExceededSchema).length, 1)
  },
})
