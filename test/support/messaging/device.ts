// A registered test device with its own keys and groups, over any transport. It implements the contract independently
// of the client and verifies every response.
import type { Transport } from "@connectrpc/connect"
import type { AppendMessageResponse } from "@signet/proto/messaging/v1/conversation_service"
import { type Credentials, callsOver } from "./calls.ts"
import { type Committing, committing, type NewConversation, type StagedAppend, type Subjects } from "./committing.ts"
import { newLeafKey, placeOf, unpinnedKeys } from "./device-parts.ts"
import { type Enrolling, enrolling } from "./enrolling.ts"
import type { Own } from "./own.ts"
import { type Reading, reading } from "./reading.ts"
import type { Room } from "./room.ts"
import type { SignedIn } from "./world.ts"

export interface TestDevice extends Readonly<Own>, Enrolling, Committing, Reading {
  createDirect(peerUserId: string): Promise<Room>
  createGroup(userIds: string[]): Promise<Room>
  /** Appends, then processes the log beyond it. */
  commit(staged: StagedAppend): Promise<AppendMessageResponse>
  add(room: Room, subjects: Subjects): Promise<AppendMessageResponse>
  remove(room: Room, subjects: Subjects): Promise<AppendMessageResponse>
  update(room: Room): Promise<AppendMessageResponse>
  send(room: Room, text: string): Promise<AppendMessageResponse>
  /** Leases a directive and commits it. */
  carryOut(room: Room, directiveId: string): Promise<AppendMessageResponse>
}

/** Creates a device that is not registered yet. */
export async function newDevice(transport: Transport, session: SignedIn): Promise<TestDevice> {
  const credentials: Credentials = { token: session.accessToken, device: undefined }
  const calls = callsOver(transport, credentials)
  const { issuerKeySet } = await calls.devices.getIssuerKeys({})
  const own: Own = {
    session,
    credentials,
    calls,
    userId: session.userId,
    place: placeOf(session.accessToken),
    issuerKeys: unpinnedKeys(issuerKeySet),
    id: "",
    key: newLeafKey(),
    identity: { credential: new Uint8Array(), signatureKey: new Uint8Array(), key: new Uint8Array() },
    rooms: new Map(),
    packages: new Map(),
  }
  return Object.assign(own, enrolling(own), conversing(own))
}

function conversing(own: Own): Omit<TestDevice, keyof Own | keyof Enrolling> {
  const sends = committing(own)
  const reads = reading(own)
  const commit = async (staged: StagedAppend) => {
    const answer = await sends.append(staged)
    await reads.sync(staged.room)
    return answer
  }
  const open = async (kind: NewConversation) => {
    const { conversation, authorization } = await sends.create(kind)
    if (conversation === undefined) throw new Error("no conversation in the answer")
    if (authorization === undefined) throw new Error("somebody else made the first commit")
    const staged = await sends.stageFirst(conversation, authorization)
    await commit(staged)
    return staged.room
  }
  return {
    ...sends,
    ...reads,
    commit,
    createDirect: (peerUserId) => open({ case: "direct", value: { peerUserId } }),
    createGroup: (userIds) => open({ case: "group", value: { userIds } }),
    add: async (room, subjects) => commit(await sends.stageChange(room, await sends.authorizeAdd(room, subjects))),
    remove: async (room, subjects) =>
      commit(await sends.stageChange(room, await sends.authorizeRemove(room, subjects))),
    update: async (room) => commit(await sends.stageUpdate(room)),
    send: async (room, text) => sends.append(await sends.stageText(room, text)),
    async carryOut(room, directiveId) {
      await own.calls.conversations.leaseDirective({ conversationId: room.id, directiveId })
      return commit(await sends.stageChange(room, await sends.authorizeCarryOut(room, directiveId)))
    },
  }
}
