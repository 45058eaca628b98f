import type { Refused } from "@signet/kernel/errors"
import {
  decideStreamEnd,
  type EndingOf,
  type FindStreamOwners,
  type StreamOwner,
} from "@signet/kernel/messaging/stream-owner"
import type { MessagingDeps } from "../../deps.ts"

/** Asks device and session of one stream. */
export async function endingOf(
  { store, accounts, clock }: Pick<MessagingDeps, "store" | "accounts" | "clock">,
  { deviceId, sessionId }: StreamOwner,
): Promise<Refused | undefined> {
  const device = (await store.devices.find(deviceId))?.status
  if (device !== "ACTIVE" || sessionId === null) return decideStreamEnd({ device, session: null }, clock.nowMs())
  const session = (await accounts.findSession(sessionId))?.state
  return decideStreamEnd({ device, session }, clock.nowMs())
}

/** Asks about all streams that beat together in one statement. */
export function createEndings(find: FindStreamOwners, clock: MessagingDeps["clock"]): EndingOf {
  let waiting: { readonly owner: StreamOwner; readonly answer: PromiseWithResolvers<Refused | undefined> }[] = []
  const ask = async () => {
    const asked = waiting
    waiting = []
    const nowMs = clock.nowMs()
    try {
      const found = await find(
        asked.map(({ owner }) => owner),
        nowMs,
      )
      for (const [i, { answer }] of asked.entries()) {
        const states = found.get(i)
        answer.resolve(states && decideStreamEnd(states, nowMs))
      }
    } catch (error) {
      for (const { answer } of asked) answer.reject(error)
    }
  }
  return (owner) => {
    const answer = Promise.withResolvers<Refused | undefined>()
    if (waiting.push({ owner, answer }) === 1) queueMicrotask(ask)
    return answer.promise
  }
}
