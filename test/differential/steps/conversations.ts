// Conversations: made, written to, changed.
import { idOf } from "@signet/kernel/ids"
import type { Authorization } from "@signet/proto/messaging/v1/records"
import { type Append, newClaimId } from "../../support/messaging/committing.ts"
import type { TestDevice } from "../../support/messaging/device.ts"
import { randomBytes } from "../../support/messaging/device-parts.ts"
import type { Room } from "../../support/messaging/room.ts"
import { type Act, anyRoom, inOrder, membersOf, type Step } from "../side.ts"
import { distinct } from "./key-packages.ts"

const mostConversations = 16
const mostLeaves = 8

export const append = async (act: Act, what: string, device: TestDevice, request: Append): Promise<boolean> => {
  const call = () => device.calls.conversations.appendMessage(request)
  if (what.endsWith("a bit turned")) return (await act.seeIf(what, call)) !== undefined
  const answer = await act.see(what, call)
  act.side.again.push({ what, call, by: device })
  return answer !== undefined
}

export const sync = (act: Act, device: TestDevice, room: Room) =>
  act.see("listMessages to the head", async () => {
    await device.sync(room)
    const { seq, epoch, isMember, read } = room
    return { seq, epoch, isMember, read: read.length, last: read.at(-1)?.text ?? "" }
  })

const make: Step = async (act) => {
  const { side, rng } = act
  const device = rng.pick(side.devices)
  const isDirect = rng.chance(0.35)
  const peer = rng.pick(side.people).session.userId
  const userIds = distinct(Array.from({ length: rng.below(4) }, () => rng.pick(side.people).session.userId))
  if (rng.chance(0.05))
    userIds.push(
      idOf(
        "prn",
        randomBytes(16).map((byte, i) => (i === 0 ? byte & 0x7f : byte)),
      ),
    )
  if (side.conversations.length >= mostConversations && !isDirect) return
  const kind = isDirect
    ? ({ case: "direct", value: { peerUserId: peer } } as const)
    : ({ case: "group", value: { userIds: userIds.filter((id) => id !== device.userId || rng.chance(0.1)) } } as const)
  const request = { kind, idempotencyKey: randomBytes(16), claimId: newClaimId() }
  const call = () => device.calls.conversations.createConversation(request)
  const answer = await act.see(`createConversation, ${kind.case}`, call)
  side.again.push({ what: "createConversation", call, by: device })
  const { conversation, authorization } = answer ?? {}
  if (conversation === undefined) return
  if (!side.conversations.includes(conversation.id)) side.conversations.push(conversation.id)
  if (authorization === undefined || device.rooms.has(conversation.id) || rng.chance(0.05)) return
  const staged = await device.stageFirst(conversation, inOrder(side, authorization))
  if (rng.chance(0.95)) {
    if (await append(act, "appendMessage, first commit", device, staged.request)) await sync(act, device, staged.room)
  }
}

const join: Step = async (act) => {
  const device = act.rng.pick(act.side.devices)
  const answer = await act.see("listWelcomes", () => device.calls.welcomes.listWelcomes({}))
  for (const welcome of answer?.welcomes ?? []) {
    await act.see("join", async () => {
      const { seq, epoch } = await device.joinBy(welcome)
      return { seq, epoch }
    })
    await sync(act, device, device.room(welcome.conversationId))
  }
}

const text: Step = async (act) => {
  const found = anyRoom(act)
  if (found === undefined) return
  const { device, room } = found
  if (act.rng.chance(0.7)) await sync(act, device, room)
  if (!room.isMember) return
  const said = await device.stageText(room, "x".repeat(1 + act.rng.below(act.rng.chance(0.05) ? 60_000 : 200)))
  await append(act, "appendMessage, text", device, said)
}

const wrongText: Step = async (act) => {
  const { side, rng } = act
  const found = anyRoom(act)
  if (found === undefined) return
  const { device, room } = found
  const said = await device.stageText(room, "wrong")
  const elsewhere = rng.pick(side.conversations)
  const changes: readonly (readonly [string, TestDevice, Append])[] = [
    [
      "at an epoch that is over",
      device,
      { ...said, expectedEpoch: said.expectedEpoch === 0n ? 0n : said.expectedEpoch - 1n },
    ],
    ["at an epoch to come", device, { ...said, expectedEpoch: said.expectedEpoch + 1n }],
    ["at an epoch far away", device, { ...said, expectedEpoch: 2n ** 63n }],
    ["to another conversation", device, { ...said, conversationId: elsewhere }],
    ["to nowhere", device, { ...said, conversationId: "cnv_00000000000000000000000000" }],
    ["with half a key", device, { ...said, idempotencyKey: randomBytes(8) }],
    ["of random bytes", device, { ...said, payload: { case: "application", value: randomBytes(1 + rng.below(300)) } }],
    ["too long", device, { ...said, payload: { case: "application", value: randomBytes(262_145) } }],
  ]
  const [what, by, request] = rng.pick(changes)
  // Not to come again: later it might be taken.
  await act.see(`appendMessage, ${what}`, () => by.calls.conversations.appendMessage(request))
}

/** One key for two messages. */
const sameKey: Step = async (act) => {
  const found = anyRoom(act)
  if (found === undefined) return
  const { device, room } = found
  const first = await device.stageText(room, "first")
  const second = await device.stageText(room, "second")
  await append(act, "appendMessage, text", device, first)
  await append(act, "appendMessage, another with the key", device, { ...second, idempotencyKey: first.idempotencyKey })
}

const update: Step = async (act) => {
  const found = anyRoom(act)
  if (found === undefined) return
  const { device, room } = found
  if (act.rng.chance(0.8)) await sync(act, device, room)
  if (!room.isMember) return
  const identity = act.rng.chance(0.3) ? device.identity : undefined
  const staged = await device.stageUpdate(room, identity)
  if (await append(act, "appendMessage, update", device, staged.request)) await sync(act, device, room)
}

/** Two make a commit at the same epoch, and one after the other sends it. */
const conflict: Step = async (act) => {
  const { side, rng } = act
  const found = anyRoom(act)
  if (found === undefined) return
  const members = membersOf(side, found.room.id)
  const [one, two] = [found, rng.pick(members)]
  await sync(act, one.device, one.room)
  if (two.device !== one.device) await sync(act, two.device, two.room)
  if (!one.room.isMember || !two.room.isMember) return
  const [first, second] = [await one.device.stageUpdate(one.room), await two.device.stageUpdate(two.room)]
  const late = await two.device.stageText(two.room, "late")
  await append(act, "appendMessage, the first of two", one.device, first.request)
  await append(act, "appendMessage, the second of two", two.device, second.request)
  await append(act, "appendMessage, text of the epoch before", two.device, late)
  await sync(act, one.device, one.room)
  await sync(act, two.device, two.room)
}

/** One device commits several times at once; one wins. Of several devices the log would tell on each side another. */
const race: Step = async (act) => {
  const found = anyRoom(act)
  if (found === undefined) return
  const { device, room } = found
  await sync(act, device, room)
  if (!room.isMember) return
  const requests: Append[] = []
  const count = 2 + act.rng.below(3)
  for (let i = 0; i < count; i++) requests.push((await device.stageUpdate(room)).request)
  const taken = await act.seeAll(
    "appendMessage, commits at once",
    requests.map((request) => () => device.calls.conversations.appendMessage(request)),
  )
  act.write("commits taken", taken.length)
  await sync(act, device, room)
}

const add: Step = async (act) => {
  const { side, rng } = act
  const found = anyRoom(act)
  if (found === undefined) return
  const { device, room } = found
  if (rng.chance(0.9)) await sync(act, device, room)
  if (!room.isMember || membersOf(side, room.id).length >= mostLeaves) return
  const userIds = rng.chance(0.7) ? [rng.pick(side.people).session.userId] : []
  const deviceIds = userIds.length === 0 || rng.chance(0.2) ? [rng.pick(side.devices).id] : []
  const authorization = await act.see("authorizeMembership, add", () =>
    device.authorizeAdd(room, { userIds, deviceIds }),
  )
  if (authorization === undefined) return
  await change(act, device, room, authorization)
}

const remove: Step = async (act) => {
  const { side, rng } = act
  const found = anyRoom(act)
  if (found === undefined) return
  const { device, room } = found
  if (rng.chance(0.9)) await sync(act, device, room)
  if (!room.isMember) return
  const subject = rng.pick(side.devices)
  const subjects = rng.chance(0.5) ? { userIds: [subject.userId] } : { deviceIds: [subject.id] }
  const authorization = await act.see("authorizeMembership, remove", () => device.authorizeRemove(room, subjects))
  if (authorization === undefined) return
  await change(act, device, room, authorization)
}

/** Commits what was authorized; now and then somebody else was faster, or it comes twice. */
export async function change(act: Act, device: TestDevice, room: Room, authorization: Authorization): Promise<void> {
  const { side, rng } = act
  if (authorization.keyPackageRefs.length + authorization.removedDeviceIds.length === 0) return
  const staged = await device.stageChange(room, inOrder(side, authorization))
  if (rng.chance(0.15)) {
    const other = rng.pick(membersOf(side, room.id))
    await sync(act, other.device, other.room)
    if (other.room.isMember) {
      await append(act, "appendMessage, faster", other.device, (await other.device.stageUpdate(other.room)).request)
    }
  }
  const isTaken = await append(act, "appendMessage, change", device, staged.request)
  if (isTaken && rng.chance(0.2)) {
    const anew = { ...staged.request, idempotencyKey: randomBytes(16) }
    await append(act, "appendMessage, change once more", device, anew)
  }
  await sync(act, device, room)
}

export const conversations: Readonly<Record<string, readonly [number, Step]>> = {
  make: [5, make],
  join: [9, join],
  text: [14, text],
  wrongText: [5, wrongText],
  sameKey: [2, sameKey],
  update: [4, update],
  conflict: [3, conflict],
  race: [1, race],
  add: [7, add],
  remove: [2, remove],
}
