// @signet/client-web/messaging/push: pushes of a browser to the app's service worker.
import type { Messenger } from "@signet/client/messaging"
import type * as portable from "@signet/client/messaging/push"
import { isRemote } from "../../core/messaging/remote/opened-remotes.ts"

export type { PushEndpoint, PushSettings } from "@signet/client/messaging/push"

/** The functions for the core that a messenger runs in, loaded on demand. */
const pushesOf = (messenger: Messenger): Promise<typeof portable> =>
  isRemote(messenger) ? import("../../core/messaging/remote/push.ts") : import("@signet/client/messaging/push")

export const pushSettings: typeof portable.pushSettings = async (messenger) =>
  (await pushesOf(messenger)).pushSettings(messenger)

export const setPushEndpoint: typeof portable.setPushEndpoint = async (...given) =>
  (await pushesOf(given[0])).setPushEndpoint(...given)

export const deletePushEndpoint: typeof portable.deletePushEndpoint = async (messenger) =>
  (await pushesOf(messenger)).deletePushEndpoint(messenger)

/**
 * Subscribes the service worker to pushes of this device. Call it at each start of the app: browsers and operators replace
 * endpoints and keys.
 *
 * @returns False if the operator has not enabled pushes.
 * @throws DOMException NotAllowedError without the user's permission for notifications
 */
export async function subscribeToPush(messenger: Messenger, { pushManager }: PushRegistration): Promise<boolean> {
  const settings = await pushSettings(messenger)
  if (!settings?.kinds.includes("webPush")) return false
  const applicationServerKey = new Uint8Array(settings.publicKey)
  const former = await pushManager.getSubscription()
  const isCurrent = former !== null && isSame(former.options.applicationServerKey, applicationServerKey)
  if (former !== null && !isCurrent) await former.unsubscribe()
  // Browsers require that each push shows a notification.
  const own = isCurrent ? former : await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey })
  await setPushEndpoint(messenger, { is: "webPush", url: own.endpoint })
  return true
}

/** Ends the pushes of this device, here and at the service. */
export async function unsubscribeFromPush(messenger: Messenger, { pushManager }: PushRegistration): Promise<void> {
  await deletePushEndpoint(messenger)
  await (await pushManager.getSubscription())?.unsubscribe()
}

/** The part of a ServiceWorkerRegistration that subscriptions need. */
export type PushRegistration = Pick<ServiceWorkerRegistration, "pushManager">

function isSame(former: ArrayBuffer | null, key: Uint8Array): boolean {
  const bytes = new Uint8Array(former ?? new ArrayBuffer(0))
  return bytes.length === key.length && bytes.every((byte, at) => byte === key[at])
}
