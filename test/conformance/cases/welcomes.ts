import assert from "node:assert/strict"
import { Welcome_Status } from "@signet/proto/messaging/v1/records"
import { theirs } from "../../../server/framing/testing/bent.ts"
import { hexOf, randomBytes } from "../../support/messaging/device-parts.ts"
import * as scene from "../scene.ts"
import { refuses, there } from "../scene.ts"

export const cases = scene.cases("welcomes", {
  async "an added device has its own welcome, with everything required to join"({ trio }) {
    const [one, two, three] = await trio()
    const room = await one.createGroup([two.userId, three.userId])
    for (const device of [two, three]) {
      const [welcome, ...more] = await device.welcomes()
      assert.equal(more.length, 0)
      const { welcome: bytes, ...told } = there(welcome)
      const parts = theirs(bytes, "mls_welcome").welcome.secrets
      assert.deepEqual(
        parts.map(({ newMember }) => hexOf(newMember)),
        [hexOf(told.keyPackageRef)],
      )
      assert.deepEqual([told.conversationId, told.epoch, told.commitSeq], [room.id, 1n, 1n])
      assert.deepEqual([told.adderDeviceId, told.status], [one.id, Welcome_Status.PENDING])
      assert(told.receipt.length > 0 && told.proof.length > 0 && told.expiresAt !== undefined)
      assert(device.packages.has(hexOf(told.keyPackageRef)))
    }
    assert.deepEqual(await one.welcomes(), [])
  },
  async "listing consumes nothing"({ pair }) {
    const [one, two] = await pair()
    await one.createDirect(two.userId)
    const first = await two.welcomes()
    assert.deepEqual(await two.welcomes(), first)
  },
  async "a welcome is consumed once: a repetition with the same key is no error, and with another it is"({ pair }) {
    const [one, two] = await pair()
    await one.createDirect(two.userId)
    const { id: welcomeId } = there((await two.welcomes())[0])
    const idempotencyKey = randomBytes(16)
    const first = await two.calls.welcomes.consumeWelcome({ welcomeId, idempotencyKey })
    assert.deepEqual([first.welcome?.status, first.welcome?.welcome.length], [Welcome_Status.CONSUMED, 0])
    const again = await two.calls.welcomes.consumeWelcome({ welcomeId, idempotencyKey })
    assert.deepEqual(again.welcome, first.welcome)
    const other = two.calls.welcomes.consumeWelcome({ welcomeId, idempotencyKey: randomBytes(16) })
    await refuses("WELCOME_ALREADY_CONSUMED", other)
    assert.deepEqual(await two.welcomes(), [])
  },
  async "a welcome of another device is not found, also of the same user"({ device }) {
    const [one, two] = [await device(), await device()]
    const second = await device({ of: two, keyPackages: 0 })
    await one.createDirect(two.userId)
    const { id: welcomeId } = there((await two.welcomes())[0])
    for (const other of [one, second]) {
      const call = other.calls.welcomes.consumeWelcome({ welcomeId, idempotencyKey: randomBytes(16) })
      await refuses("NOT_FOUND", call)
    }
    assert.equal((await two.welcomes()).length, 1)
  },
  async "an unknown welcome is not found"({ device }) {
    const one = await device()
    const nothing = { welcomeId: "wel_00000000000000000000000000", idempotencyKey: randomBytes(16) }
    await refuses("NOT_FOUND", one.calls.welcomes.consumeWelcome(nothing))
  },
  async "welcomes are listed in pages, oldest first"({ trio }) {
    const [one, two, three] = await trio()
    const rooms = [await one.createGroup([three.userId]), await two.createGroup([three.userId])]
    const first = await three.calls.welcomes.listWelcomes({ pageSize: 1 })
    const rest = await three.calls.welcomes.listWelcomes({ pageSize: 1, pageToken: first.nextPageToken })
    const all = [...first.welcomes, ...rest.welcomes]
    assert.deepEqual(
      all.map(({ conversationId }) => conversationId),
      rooms.map(({ id }) => id),
    )
    assert.equal(rest.nextPageToken, "")
    await refuses("INVALID_FIELD", three.calls.welcomes.listWelcomes({ pageToken: "of another list" }))
  },
  async "a device with a welcome reads the tree before it has joined"({ pair }) {
    const [one, two] = await pair()
    await one.createDirect(two.userId)
    const tree = await two.treeOf(there((await two.welcomes())[0]))
    assert(tree.length > 0)
  },
  async "a welcome's tree is available after later commits"({ pair, device }) {
    const [one, two] = await pair()
    const room = await one.createDirect(two.userId)
    await one.update(room)
    const own = await device({ of: one })
    await one.add(room, { deviceIds: [own.id] })
    await one.send(room, "hello")
    const [joined] = await two.join()
    assert.deepEqual(
      joined?.read.map(({ text }) => text),
      ["hello"],
    )
  },
  async "the welcomes of a revoked device are void"({ device }) {
    const [one, two] = [await device(), await device()]
    const second = await device({ of: two })
    await one.createDirect(two.userId)
    const { id: welcomeId } = there((await second.welcomes())[0])
    await two.calls.devices.revokeDevice({ deviceId: second.id })
    const consumed = scene.refusal(second.calls.welcomes.consumeWelcome({ welcomeId, idempotencyKey: randomBytes(16) }))
    assert(["DEVICE_REVOKED", "SESSION_REVOKED", "NOT_FOUND"].includes((await consumed).reason))
  },
  async "after a removal an unconsumed welcome gives no membership"({ trio }) {
    const [one, two, three] = await trio()
    const room = await one.createGroup([two.userId, three.userId])
    await one.remove(room, { userIds: [three.userId] })
    const left = await three.welcomes()
    for (const welcome of left) {
      const joined = await three.joinBy(welcome)
      assert.equal((await three.sync(joined)).isMember, false)
    }
  },
})
