import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { type PrincipalId, parseId } from "@signet/kernel/ids"
import { maxCount } from "@signet/kernel/messaging/limits"
import type { BlockList } from "@signet/kernel/messaging/records"
import type { BlockService } from "@signet/proto/messaging/v1/block_service"
import { deviceOf } from "../../../serving/call/calling-device.ts"
import { auditEvent } from "../../audit/audit.ts"
import { unresolved } from "../conversation/seen.ts"
import { countChange } from "../counted.ts"
import type { MessagingDeps } from "../deps.ts"
import { usersAt } from "../people.ts"
import { limitExceeded } from "../refusing.ts"

export function blockService(deps: MessagingDeps): ServiceImpl<typeof BlockService> {
  return {
    async blockUser(request, context) {
      const device = deviceOf(context)
      if (request.userId === device.userId) {
        throw new Refused("INVALID_FIELD", {
          message: "user_id must not be the caller",
          metadata: { field: "user_id" },
        })
      }
      await countChange(deps, context)
      await usersAt(deps, device, [request.userId])
      return { list: listShape(await change(deps, context, request.userId, true)) }
    },

    // The user may have left the app or tenant since, so only the id is parsed.
    async unblockUser(request, context) {
      await countChange(deps, context)
      return { list: listShape(await change(deps, context, request.userId, false)) }
    },

    async listBlockedUsers(_, context) {
      const device = deviceOf(context)
      return { list: listShape(await deps.store.blocks.ofUser(device.userId, device)) }
    },
  }
}

const listShape = ({ version, userIds }: BlockList) => ({ version, userIds: [...userIds] })

/** Changes the caller's list, and informs the caller's devices. @throws Refused LIMIT_EXCEEDED */
async function change(
  deps: MessagingDeps,
  context: HandlerContext,
  text: string,
  isBlocked: boolean,
): Promise<BlockList> {
  const { appId, tenantId, userId } = deviceOf(context)
  const place = { appId, tenantId }
  const nowMs = deps.clock.nowMs()
  const other: PrincipalId = parseId("prn", text) ?? refuseUnresolved()
  // The subject is the caller: the blocked user must not find the event among their own.
  const event = auditEvent(deps, context, nowMs, {
    ...place,
    kind: isBlocked ? "user.blocked" : "user.unblocked",
    actorPrincipalId: userId,
    subjectPrincipalId: userId,
    target: { type: "principal", id: other },
  })
  const done = await deps.store.blocks.change({ userId, place, change: { userId: other, isBlocked } }, event)
  if (done.is === "full") throw limitExceeded("blocks_per_user", maxCount.blocksPerUser)
  if (done.is === "done") {
    const devices = await deps.store.devices.activeOf([userId], place)
    deps.wakeups.publish(devices.map(({ id }) => ({ is: "blockList", deviceId: id, version: done.list.version })))
  }
  return done.list
}

function refuseUnresolved(): never {
  throw unresolved()
}
