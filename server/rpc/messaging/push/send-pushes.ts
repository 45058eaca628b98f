import {
  type DuePushes,
  decidePushed,
  isPushAllowed,
  type PushAnswer,
  type PushEndpoint,
} from "@signet/kernel/messaging/push"
import type { MessagingDeps } from "../deps.ts"
import type { Pushes } from "./pushes.ts"

export type SendPush = (endpoint: PushEndpoint) => Promise<PushAnswer>

type SendDeps = Pick<MessagingDeps, "accounts" | "clock">

export interface Sending {
  readonly pushes: Pick<Pushes, "policy">
  readonly due: DuePushes
  readonly send: SendPush
}

const takenAtOnce = 20

/**
 * Sends the due pushes; call it several times a second. An endpoint whose session has ended, or whose host is no longer
 * listed, gets none and is deleted.
 *
 * @throws the first failure of the store or the auth service. A push that was taken then is lost.
 */
export async function sendPushes(deps: SendDeps, sending: Sending): Promise<void> {
  for (;;) {
    const taken = await sending.due.takeDue(deps.clock.nowMs(), takenAtOnce)
    await Promise.all(taken.map((endpoint) => sendOne(deps, sending, endpoint)))
    if (taken.length < takenAtOnce) return
  }
}

async function sendOne(
  { accounts, clock }: SendDeps,
  { pushes, due, send }: Sending,
  endpoint: PushEndpoint,
): Promise<void> {
  const { deviceId, sessionId, registrationId, tries } = endpoint
  if (!isPushAllowed(endpoint, pushes.policy)) return due.delete(deviceId, registrationId)
  const session = await accounts.findSession(sessionId)
  if (session?.state !== "ACTIVE" || session.boundDeviceId !== deviceId) {
    return due.delete(deviceId, registrationId)
  }
  const answer = await send(endpoint)
  await due.pushed(endpoint, decidePushed(tries, answer, clock.nowMs()))
}
