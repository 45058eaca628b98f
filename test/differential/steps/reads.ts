// What can be read, by whom it may be and by others, in pages of every size.
import { randomBytes } from "../../support/messaging/device-parts.ts"
import { type Act, anyRoom, type Step } from "../side.ts"

const messages: Step = async (act) => {
  const { side, rng } = act
  if (side.conversations.length === 0) return
  const device = rng.pick(side.devices)
  const conversationId = rng.pick(side.conversations)
  const afterSeq = BigInt(rng.below(rng.chance(0.2) ? 1_000 : 12))
  const request = { conversationId, afterSeq, limit: rng.pick([0, 1, 3, 50, 200, 201]) }
  await act.see("listMessages", () => device.calls.conversations.listMessages(request))
}

const conversation: Step = async (act) => {
  const { side, rng } = act
  if (side.conversations.length === 0) return
  const member = rng.chance(0.7) ? anyRoom(act) : undefined
  const device = member?.device ?? rng.pick(side.devices)
  const conversationId = member?.room.id ?? rng.pick(side.conversations)
  await act.see("getConversation", () => device.calls.conversations.getConversation({ conversationId }))
  const info = await act.see("getGroupInfo", () => device.calls.conversations.getGroupInfo({ conversationId }))
  const treeHash = info?.treeHash || "0".repeat(64)
  const offset = rng.pick([0, 0, 100, 100_000, 4_194_304])
  await act.see("getTree", () => device.calls.conversations.getTree({ conversationId, treeHash, offset }))
}

interface Page {
  readonly nextPageToken: string
}

/** Page by page to the end. */
async function pages(act: Act, what: string, read: (page: { pageSize: number; pageToken: string }) => Promise<Page>) {
  const { rng } = act
  const pageSize = rng.pick([0, 1, 2, 5, 200])
  let pageToken = rng.chance(0.1) ? rng.pick(["x", "AAAA", "x".repeat(513)]) : ""
  for (let i = 0; i < 12; i++) {
    const answer = await act.see(what, () => read({ pageSize, pageToken }))
    pageToken = answer?.nextPageToken ?? ""
    if (pageToken === "") return
  }
}

const lists: Step = async (act) => {
  const { side, rng } = act
  const device = rng.pick(side.devices)
  const userId = rng.chance(0.3) ? "" : rng.pick(side.people).session.userId
  const { conversations, devices, welcomes } = device.calls
  switch (rng.below(4)) {
    case 0:
      return pages(act, "listConversations", (page) => conversations.listConversations(page))
    case 1:
      return pages(act, "listDevices", (page) => devices.listDevices({ ...page, userId }))
    case 2:
      return pages(act, "listWelcomes", (page) => welcomes.listWelcomes(page))
    default: {
      const request = { userId, afterVersion: BigInt(rng.below(5)), limit: rng.pick([0, 1, 20, 21]) }
      await act.see("listDeviceLists", () => devices.listDeviceLists(request))
    }
  }
}

const acks: Step = async (act) => {
  const { rng } = act
  const found = anyRoom(act)
  if (found === undefined) return
  const { device, room } = found
  const request = {
    conversationId: room.id,
    processedSeq: rng.chance(0.6) ? room.seq : BigInt(rng.below(60)),
    processedEpoch: rng.chance(0.8) ? room.epoch : BigInt(rng.below(20)),
  }
  await act.see("ackMessages", () => device.calls.conversations.ackMessages(request))
}

const consume: Step = async (act) => {
  const { side, rng } = act
  const [device, other] = [rng.pick(side.devices), rng.pick(side.devices)]
  const answer = await act.see("listWelcomes", () => device.calls.welcomes.listWelcomes({ pageSize: 1 }))
  const welcomeId = answer?.welcomes[0]?.id ?? "wel_00000000000000000000000000"
  if (rng.chance(0.8)) {
    // Somebody else's: the device's own are consumed when it joins.
    const idempotencyKey = randomBytes(16)
    await act.see("consumeWelcome, another's", () => other.calls.welcomes.consumeWelcome({ welcomeId, idempotencyKey }))
  }
}

const limits: Step = async (act) => {
  const device = act.rng.pick(act.side.devices)
  await act.see("getLimits", () => device.calls.conversations.getLimits({}))
}

export const reads: Readonly<Record<string, readonly [number, Step]>> = {
  messages: [4, messages],
  conversation: [4, conversation],
  lists: [6, lists],
  acks: [4, acks],
  consume: [1, consume],
  limits: [0.2, limits],
}
