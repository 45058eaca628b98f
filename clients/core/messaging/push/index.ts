// @signet/client/messaging/push: where the service wakes up this device. Separate, so that a page without pushes does not
// load it.
import { createClient } from "@connectrpc/connect"
import { PushKind, PushService } from "@signet/proto/messaging/v1/push_service"
import type { Messenger } from "../messenger.ts"
import { contextOf } from "../opened-messengers.ts"

/** The push settings of the service. */
export interface PushSettings {
  readonly kinds: readonly PushEndpoint["is"][]
  /** The P-256 key that signs pushes: 65 bytes, the `applicationServerKey` of a browser. */
  readonly publicKey: Uint8Array
}

export interface PushEndpoint {
  /** The push service of a browser, or an HTTPS server of the app. */
  readonly is: "webPush" | "webhook"
  /** An https URL on port 443, at a host that the operator allows. */
  readonly url: string
}

/** @returns Undefined if the operator has not enabled pushes. */
export async function pushSettings(messenger: Messenger): Promise<PushSettings | undefined> {
  const { kinds, publicKey } = await pushesOf(messenger).getPushSettings({})
  const known = kinds.flatMap((kind): PushEndpoint["is"][] => {
    if (kind === PushKind.WEB_PUSH) return ["webPush"]
    return kind === PushKind.WEBHOOK ? ["webhook"] : []
  })
  return known.length === 0 ? undefined : { kinds: known, publicKey }
}

/**
 * Replaces the endpoint of this device. It ends with the session and the device. Call it again at each start of the app.
 *
 * @returns The id of the registration, which a webhook finds in each push: 16 bytes.
 * @throws an error with reason INVALID_FIELD for a kind or URL that the operator does not allow
 */
export async function setPushEndpoint(messenger: Messenger, { is, url }: PushEndpoint): Promise<Uint8Array> {
  const kind = is === "webPush" ? PushKind.WEB_PUSH : PushKind.WEBHOOK
  return (await pushesOf(messenger).setPushEndpoint({ kind, url })).registrationId
}

export async function deletePushEndpoint(messenger: Messenger): Promise<void> {
  await pushesOf(messenger).deletePushEndpoint({})
}

const pushesOf = (messenger: Messenger) => createClient(PushService, contextOf(messenger).calls.transport)
