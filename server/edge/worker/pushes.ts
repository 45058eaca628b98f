// Push hints of the Worker: Web Push to listed hosts. Its `fetch` resolves names by itself, so it cannot connect to a
// checked address. Webhooks, whose hosts belong to apps, are not sent from here.

import type { MessagingAccounts } from "@signet/kernel/messaging/ports"
import {
  decidePushed,
  fractionOf,
  isPushAllowed,
  type PushAnswer,
  type PushDecision,
  type PushEndpoint,
  type PushPolicy,
  pushLimits,
} from "@signet/kernel/messaging/push"
import type { Clock, Random } from "@signet/kernel/ports"
import { openPushKey, type PushKey } from "../../pushes/push-key.ts"
import { pushRequest } from "../../pushes/push-request.ts"
import type { PushSettings } from "../../pushes/push-settings.ts"

export interface EdgePushes {
  publicKey(): Promise<Uint8Array>
  /** Sends one push, unless its session has ended or its host is no longer listed. Never rejects. */
  push(endpoint: PushEndpoint): Promise<PushDecision>
  /** True if its session is active and its host is listed. @throws an error if the auth service does not answer */
  keeps(endpoint: PushEndpoint): Promise<boolean>
}

export function createEdgePushes(
  { key: pkcs8, contact }: PushSettings,
  {
    policy,
    accounts,
    clock,
    random,
    fetch,
  }: {
    policy: PushPolicy
    accounts: MessagingAccounts
    clock: Clock
    random: Random
    fetch: typeof globalThis.fetch
  },
): EdgePushes {
  let opened: Promise<PushKey> | undefined
  const key = () => {
    opened ??= openPushKey(pkcs8)
    return opened
  }

  async function send(endpoint: PushEndpoint): Promise<PushAnswer> {
    const { url, headers, body } = await pushRequest({ key: await key(), contact, random }, endpoint, clock.nowMs())
    const signal = AbortSignal.timeout(pushLimits.timeoutMs)
    // "manual", because a followed redirect would lead to a host that nobody listed.
    const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal })
    await response.body?.cancel()
    return { status: response.status, retryAfter: response.headers.get("retry-after") }
  }

  async function keeps(endpoint: PushEndpoint): Promise<boolean> {
    if (!isPushAllowed(endpoint, policy)) return false
    const session = await accounts.findSession(endpoint.sessionId)
    return session?.state === "ACTIVE" && session.boundDeviceId === endpoint.deviceId
  }

  return {
    publicKey: async () => (await key()).publicKey,
    keeps,
    async push(endpoint) {
      try {
        if (!(await keeps(endpoint))) return { is: "delete" }
        return decidePushed(endpoint.tries, await send(endpoint), clock.nowMs(), fractionOf(random.bytes(2)))
      } catch {
        return decidePushed(endpoint.tries, undefined, clock.nowMs(), fractionOf(random.bytes(2)))
      }
    },
  }
}
