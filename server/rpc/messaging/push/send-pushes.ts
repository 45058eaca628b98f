import { type DuePushes, decidePushed, type PushAnswer, type PushEndpoint } from "@signet/kernel/messaging/push"
import type { MessagingDeps } from "../deps.ts"

export type SendPush = (endpoint: PushEndpoint) => Promise<PushAnswer>

const takenAtOnce = 20

/**
 * Sends the due pushes; call it several times a second. An endpoint whose session has ended gets none and is deleted.
 *
 * @throws the first failure of the store or the auth service. A push that was taken then is lost.
 */
export async function sendPushes(
  { accounts, clock }: Pick<MessagingDeps, "accounts" | "clock">,
  endpoints: DuePushes,
  send: SendPush,
): Promise<void> {
  for (;;) {
    const due = await endpoints.takeDue(clock.nowMs(), takenAtOnce)
    await Promise.all(due.map((endpoint) => sendOne({ accounts, clock }, endpoints, send, endpoint)))
    if (due.length < takenAtOnce) return
  }
}

async function sendOne(
  { accounts, clock }: Pick<MessagingDeps, "accounts" | "clock">,
  endpoints: DuePushes,
  send: SendPush,
  endpoint: PushEndpoint,
): Promise<void> {
  const { deviceId, sessionId, registrationId, tries } = endpoint
  const session = await accounts.findSession(sessionId)
  if (session?.state !== "ACTIVE" || session.boundDeviceId !== deviceId) {
    return endpoints.delete(deviceId, registrationId)
  }
  const answer = await send(endpoint)
  await endpoints.pushed(endpoint, decidePushed(tries, answer, clock.nowMs()))
}
