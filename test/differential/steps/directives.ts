// Leaving, coming back, carrying out what the service asks for, and reporting what cannot be followed.
import { ReportForkRequest_Fault } from "@signet/proto/messaging/v1/conversation_service"
import { randomBytes } from "../../support/messaging/device-parts.ts"
import { anyRoom, type Step } from "../side.ts"
import { change, sync } from "./conversations.ts"

const leave: Step = async (act) => {
  const found = anyRoom(act)
  if (found === undefined) return
  const { device, room } = found
  await act.see("leaveConversation", () => device.calls.conversations.leaveConversation({ conversationId: room.id }))
}

const rejoin: Step = async (act) => {
  const found = anyRoom(act)
  if (found === undefined) return
  const { device, room } = found
  await act.see("requestRejoin", () => device.calls.conversations.requestRejoin({ conversationId: room.id }))
}

const carryOut: Step = async (act) => {
  const { rng } = act
  const found = anyRoom(act)
  if (found === undefined) return
  const { device, room } = found
  const { id: conversationId } = room
  const answer = await act.see("listDirectives", () => device.calls.conversations.listDirectives({ conversationId }))
  const directiveId = answer?.directives.at(-1)?.id ?? "dir_00000000000000000000000000"
  if (answer === undefined || (answer.directives.length === 0 && rng.chance(0.8))) return
  if (rng.chance(0.85)) {
    await act.see("leaseDirective", () => device.calls.conversations.leaseDirective({ conversationId, directiveId }))
  }
  await sync(act, device, room)
  if (!room.isMember) return
  const authorization = await act.see("authorizeMembership, carry out", () =>
    device.authorizeCarryOut(room, directiveId),
  )
  if (authorization !== undefined) await change(act, device, room, authorization)
}

const fork: Step = async (act) => {
  const { rng } = act
  const found = anyRoom(act)
  if (found === undefined) return
  const { device, room } = found
  // Far more often than not of something that never was: a quarantine ends what else can be tried.
  const seq = rng.chance(0.1) ? room.seq || 1n : BigInt(1 + rng.below(50))
  const epoch = rng.chance(0.5) ? room.epoch : BigInt(rng.below(20))
  const request = {
    conversationId: room.id,
    seq,
    epoch,
    fault: rng.pick([
      ReportForkRequest_Fault.COMMIT_UNPROCESSABLE,
      ReportForkRequest_Fault.STATE_TAG_MISMATCH,
      ReportForkRequest_Fault.FAULT_UNSPECIFIED,
    ]),
    stateTag: randomBytes(rng.pick([0, 32, 32, 31])),
  }
  const call = () => device.calls.conversations.reportFork(request)
  await act.see("reportFork", call)
}

export const directives: Readonly<Record<string, readonly [number, Step]>> = {
  leave: [0.5, leave],
  rejoin: [1, rejoin],
  carryOut: [5, carryOut],
  fork: [0.7, fork],
}
