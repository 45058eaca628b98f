import { create } from "@bufbuild/protobuf"
import { ConnectError } from "@connectrpc/connect"
import { parseId } from "@signet/kernel/ids"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import { sql } from "kysely"
import { createContentCommitSignature } from "ts-mls/framedContent.js"
import { encodeMlsMessage } from "ts-mls/message.js"
import { protectPublicMessage } from "ts-mls/messageProtectionPublic.js"
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { opened } from "../../../../../clients/core/messaging/engine/state.ts"
import { testKit } from "../../../../../clients/core/messaging/testing/forge.ts"
import { isLong } from "../../../../../test/support/effort.ts"
import { proofHeader, proofOf } from "../../../../../test/support/messaging/calls.ts"
import type { Append, StagedAppend } from "../../../../../test/support/messaging/committing.ts"
import type { TestDevice } from "../../../../../test/support/messaging/device.ts"
import { newLeafKey, randomBytes, suite } from "../../../../../test/support/messaging/device-parts.ts"
import type { Room } from "../../../../../test/support/messaging/room.ts"
import { openTestStore, storyStore, type TestStore } from "../../../../../test/support/postgres.ts"
import { theirs } from "../../../../framing/testing/bent.ts"
import { type MessagingWorld, openMessagingWorld } from "../../testing/world.ts"
import { removeRevoked } from "./after.ts"

let store: TestStore
let world: MessagingWorld
beforeAll(async () => {
  store = await openTestStore(storyStore)
})
afterAll(() => store.close())
beforeEach(async () => {
  world = await openMessagingWorld(store)
})
afterEach(async () => {
  expect(world.faults).toEqual([])
  await world.close()
})

/** Appends by the world's clock; devices have a clock of their own. */
async function appendNow(device: TestDevice, request: Append): Promise<string> {
  const { appendMessage } = ConversationService.method
  const key = device.credentials.device ?? expect.fail("not registered")
  const proof = await proofOf(key, appendMessage, create(appendMessage.input, request), {
    atMs: world.deps.clock.nowMs(),
  })
  try {
    await device.calls.conversations.appendMessage(request, { headers: { [proofHeader]: proof } })
    return "taken"
  } catch (error) {
    const [info] = ConnectError.from(error).findDetails(ErrorInfoSchema)
    return [info?.reason, info?.metadata.code].join(" ").trim()
  }
}

test("members send messages, add others and remove them", async () => {
  const alice = await world.newDevice()
  const bob = await world.newDevice()
  const room = await alice.createGroup([bob.userId])
  await bob.join()
  const bobs = bob.room(room.id)
  await alice.send(room, "hello")
  await bob.sync(bobs)
  expect(bobs.read.map(({ text, from }) => [text, from])).toEqual([["hello", alice.id]])
  const carol = await world.newDevice()
  await alice.add(await alice.sync(room), { userIds: [carol.userId] })
  await carol.join()
  await bob.sync(bobs)
  await bob.remove(bobs, { userIds: [carol.userId] })
  await alice.sync(room)
  await alice.update(room)
  await bob.sync(bobs)
  expect(bobs.epoch).toBe(4n)
  expect(bobs.state.epoch).toBe(4n)
})

test("a proof lives 300 seconds", async () => {
  const alice = await world.newDevice()
  const [bob, carol, dave] = [await world.newDevice(), await world.newDevice(), await world.newDevice()]
  const room = await alice.createGroup([bob.userId])
  const early = await alice.stageChange(room, await alice.authorizeAdd(room, { userIds: [carol.userId] }))
  const late = await alice.stageChange(room, await alice.authorizeAdd(room, { userIds: [dave.userId] }))
  world.advance(301_000)
  expect(await appendNow(alice, late.request)).toBe("PROOF_STALE PROOF_EXPIRED")
  world.advance(-10_000)
  expect(await appendNow(alice, early.request)).toBe("taken")
})

test("a device whose credential has expired is refused", async () => {
  const alice = await world.newDevice()
  const bob = await world.newDevice()
  const room = await alice.createGroup([bob.userId])
  const message = await alice.stageText(room, "hello")
  const { request } = await alice.stageUpdate(room)
  world.advance(401 * 86_400_000)
  expect(await appendNow(alice, message)).toBe("CREDENTIAL_REFUSED CRED_EXPIRED")
  expect(await appendNow(alice, request)).toBe("CREDENTIAL_REFUSED CRED_EXPIRED")
})

test.runIf(isLong)("a renewed device commits with its old leaf, and then with its new one", async () => {
  const alice = await world.newDevice()
  const bob = await world.newDevice()
  const room = await alice.createGroup([bob.userId])
  await bob.join()
  await alice.renew(newLeafKey())
  const before = alice.room(room.id)
  const { request } = await alice.stageUpdate(before, alice.identity)
  expect(await appendNow(alice, request)).toBe("taken")
  await alice.sync(before)
  await alice.update(before)
  const { conversation } = await bob.calls.conversations.getConversation({ conversationId: room.id })
  expect(conversation?.epoch).toBe(3n)
  expect(await bob.sync(bob.room(room.id))).toMatchObject({ epoch: 3n })
})

test("a leaf's key may renew it after the device has replaced that key", async () => {
  const alice = await world.newDevice()
  const bob = await world.newDevice()
  const room = await alice.createGroup([bob.userId])
  await bob.join()
  await alice.renew(newLeafKey())
  await alice.renew(newLeafKey())
  const before = alice.room(room.id)
  const { request } = await alice.stageUpdate(before, alice.identity)
  expect(await appendNow(alice, request)).toBe("taken")
  expect(await bob.sync(bob.room(room.id))).toMatchObject({ epoch: 2n })
})

/** The same commit, signed with another key. */
async function signedAgain({ staged, request }: StagedAppend, room: Room, seed: Uint8Array): Promise<Append> {
  const { content, auth } = theirs(staged.commit, "mls_public_message").publicMessage
  if (content.contentType !== "commit" || auth.contentType !== "commit") return expect.fail("no commit")
  const { cs } = testKit(suite)
  const { context, epochSecrets } = opened(room.state)
  const { framedContent, signature } = await createContentCommitSignature(
    context,
    "mls_public_message",
    content.commit,
    content.sender,
    content.authenticatedData,
    seed,
    cs.signature,
  )
  const whole = { wireformat: "mls_public_message", content: framedContent, auth: { ...auth, signature } } as const
  const publicMessage = await protectPublicMessage(epochSecrets.membership, context, whole, cs)
  const commit = encodeMlsMessage({ version: "mls10", wireformat: "mls_public_message", publicMessage })
  return {
    ...request,
    idempotencyKey: randomBytes(16),
    payload: { case: "commit", value: { ...request.payload.value, commit } },
  }
}

test.runIf(isLong)("a commit without a path is signed with its leaf's key, while the device has that key", async () => {
  const [alice, bob] = [await world.newDevice(), await world.newDevice()]
  const [carol, dave] = [await world.newDevice(), await world.newDevice()]
  const { id } = await alice.createGroup([bob.userId])
  const adding = async (of: TestDevice) => {
    const room = alice.room(id)
    return alice.stageChange(room, await alice.authorizeAdd(room, { userIds: [of.userId] }))
  }
  await alice.renew(newLeafKey())
  const first = await adding(carol)
  const unsigned = "MLS_MALFORMED MLS_BAD_SIGNATURE"
  expect(await appendNow(alice, await signedAgain(first, alice.room(id), alice.key.seed))).toBe(unsigned)
  expect(await appendNow(alice, first.request)).toBe("taken")
  await alice.sync(alice.room(id))
  await alice.renew(newLeafKey())
  expect(await appendNow(alice, (await adding(dave)).request)).toBe(unsigned)
})

test.runIf(isLong)("a device that was revoked after its package was claimed cannot be added", async () => {
  const alice = await world.newDevice()
  const bob = await world.newDevice()
  const user = await world.newUser()
  const [phone, laptop] = [await world.newDevice({ of: user }), await world.newDevice({ of: user })]
  const room = await alice.createGroup([bob.userId])
  const add = await alice.stageChange(room, await alice.authorizeAdd(room, { deviceIds: [phone.id] }))
  await laptop.calls.devices.revokeDevice({ deviceId: phone.id })
  expect(await appendNow(alice, add.request)).toBe("CREDENTIAL_REFUSED CRED_REVOKED")
})

test("a device that was revoked while it was added gets its directive", async () => {
  const alice = await world.newDevice()
  const bob = await world.newDevice()
  const room = await alice.createGroup([bob.userId])
  const id = parseId("cnv", room.id) ?? expect.fail("no id")
  const conversation = (await store.messaging.conversations.find(id)) ?? expect.fail("no conversation")
  await sql`update messaging_device set status = 'REVOKED', revoked_at = now() where id = ${bob.id}`.execute(store.db)
  const added = conversation.roster.filter(({ deviceId }) => deviceId === bob.id)
  await removeRevoked(world.deps, conversation, added)
  await removeRevoked(world.deps, conversation, added)
  const { directives } = await alice.calls.conversations.listDirectives({ conversationId: room.id })
  expect(directives.map(({ deviceId }) => deviceId)).toEqual([bob.id])
})

/** Revokes a device in the transaction that makes it the first leaf of a group: it was active when its commit was checked. */
async function revokedMeanwhile(deviceId: string, work: () => Promise<unknown>): Promise<void> {
  await sql`create function revoke_meanwhile() returns trigger language plpgsql as $$ begin
    update messaging_device set status = 'REVOKED', revoked_at = now() where id = new.device_id;
    return new; end $$`.execute(store.db)
  await sql`create trigger revoke_meanwhile after insert on conversation_leaf for each row
    when (new.device_id = ${sql.lit(deviceId)}) execute function revoke_meanwhile()`.execute(store.db)
  try {
    await work()
  } finally {
    await sql`drop function revoke_meanwhile() cascade`.execute(store.db)
  }
}

/** A direct conversation that both of its devices may reset: neither could add the other. */
async function stranded(): Promise<{ alice: TestDevice; bob: TestDevice; id: string }> {
  const [alice, bob] = [await world.newDevice(), await world.newDevice()]
  const { id } = await alice.createDirect(bob.userId)
  await bob.join()
  for (const { calls } of [alice, bob]) await calls.conversations.requestRejoin({ conversationId: id })
  return { alice, bob, id }
}

const directedIn = async ({ calls }: TestDevice, conversationId: string) =>
  (await calls.conversations.listDirectives({ conversationId })).directives.map(({ deviceId }) => deviceId)

test("a device that is revoked while it creates a conversation gets its directive", async () => {
  const [alice, bob] = [await world.newDevice(), await world.newDevice()]
  const { conversation, authorization } = await alice.create({ case: "direct", value: { peerUserId: bob.userId } })
  if (conversation === undefined || authorization === undefined) throw new Error("nothing to create")
  const { request } = await alice.stageFirst(conversation, authorization)
  await revokedMeanwhile(alice.id, async () => expect(await appendNow(alice, request)).toBe("taken"))
  expect(await directedIn(bob, conversation.id)).toEqual([alice.id])
})

test.runIf(isLong)("a device that is revoked while it resets a conversation gets its directive", async () => {
  const { alice, bob, id } = await stranded()
  const authorization = await alice.authorizeReset(id)
  const { conversation } = await alice.calls.conversations.getConversation({ conversationId: id })
  if (conversation === undefined) throw new Error("no conversation")
  const { request } = await alice.stageReset(conversation, authorization)
  await revokedMeanwhile(alice.id, async () => expect(await appendNow(alice, request)).toBe("taken"))
  expect(await directedIn(bob, id)).toEqual([alice.id])
})
