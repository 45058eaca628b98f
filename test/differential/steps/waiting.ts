// What the service does after its answer, and soon: no client may count on it before.
import { ConnectError } from "@connectrpc/connect"
import type { TestDevice } from "../../support/messaging/device.ts"
import { type Act, membersOf } from "../side.ts"

/** Waits until every conversation that the revoked device is in has a directive for it, and writes down which have. */
export async function expectDirectives(act: Act, victim: TestDevice): Promise<void> {
  const { side } = act
  const found: string[] = []
  for (const [i, id] of side.conversations.entries()) {
    if (victim.rooms.get(id)?.isMember !== true) continue
    const other = membersOf(side, id).find(({ device }) => device.userId !== victim.userId)
    if (other === undefined) continue
    const endMs = performance.now() + 30_000
    for (let tries = 0; performance.now() < endMs; tries++) {
      const answer = await other.device.calls.conversations.listDirectives({ conversationId: id }).catch((error) => {
        if (error instanceof ConnectError) return undefined
        throw error
      })
      if (answer === undefined) break
      if (answer.directives.some(({ deviceId }) => deviceId === victim.id)) {
        found.push(String(i))
        break
      }
      // Perhaps it was removed before: that is seen soon enough.
      if (tries > 20 && (await isOut(other.device, id, victim))) break
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
  }
  act.write("directives for the device", found)
}

async function isOut(device: TestDevice, conversationId: string, victim: TestDevice): Promise<boolean> {
  const { conversation } = await device.calls.conversations.getConversation({ conversationId })
  return conversation?.members.every(({ deviceId }) => deviceId !== victim.id) ?? true
}
