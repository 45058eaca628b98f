import {
  type DuePushes,
  decidePushed,
  fractionOf,
  isPushAllowed,
  type PushAnswer,
  type PushEndpoint,
} from "@signet/kernel/messaging/push"
import type { MessagingDeps } from "../deps.ts"
import type { Pushes } from "./pushes.ts"

export type SendPush = (endpoint: PushEndpoint) => Promise<PushAnswer>

type SendDeps = Pick<MessagingDeps, "accounts" | "clock" | "random">

export interface Sending {
  readonly pushes: Pick<Pushes, "policy">
  readonly due: DuePushes
  readonly send: SendPush
}

const takenAtOnce = 20
/** Pushes that wait for an answer. */
const waitingAtOnce = 100

interface PushSender {
  /** Begins the due pushes; call it several times a second. It does not wait for answers: a host may give none. */
  begin(): Promise<void>
  /** Resolves once no push waits for an answer. */
  idle(): Promise<void>
}

/**
 * Sends pushes, at most 100 at once. An endpoint whose session has ended, or whose host is no longer listed, gets none and
 * is deleted.
 *
 * @param onFault Receives failures of the store or the auth service. A push that was taken then is lost.
 */
export function createPushSender(deps: SendDeps, sending: Sending, onFault: (fault: unknown) => void): PushSender {
  const waiting = new Set<Promise<void>>()
  return {
    async begin() {
      for (;;) {
        const room = Math.min(takenAtOnce, waitingAtOnce - waiting.size)
        if (room === 0) return
        const taken = await sending.due.takeDue(deps.clock.nowMs(), room)
        for (const endpoint of taken) {
          const one = sendOne(deps, sending, endpoint)
            .catch(onFault)
            .finally(() => waiting.delete(one))
          waiting.add(one)
        }
        if (taken.length < room) return
      }
    },
    async idle() {
      await Promise.all(waiting)
    },
  }
}

async function sendOne(
  { accounts, clock, random }: SendDeps,
  { pushes, due, send }: Sending,
  endpoint: PushEndpoint,
): Promise<void> {
  const { deviceId, sessionId, registrationId, tries } = endpoint
  if (!isPushAllowed(endpoint, pushes.policy)) return due.delete(deviceId, null, registrationId)
  const session = await accounts.findSession(sessionId)
  if (session?.state !== "ACTIVE" || session.boundDeviceId !== deviceId) {
    return due.delete(deviceId, null, registrationId)
  }
  const answer = await send(endpoint)
  await due.pushed(endpoint, decidePushed(tries, answer, clock.nowMs(), fractionOf(random.bytes(2))))
}
