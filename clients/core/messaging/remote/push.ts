// As @signet/client/messaging/push, for a remote messenger.
import { PushEndpointKind as Kind, PushEndpointService } from "@signet/proto/client/v1/push_endpoint_service"
import type { Messenger } from "../messenger.ts"
import type { PushEndpoint, PushSettings } from "../push/index.ts"
import { serviceOf } from "./opened-remotes.ts"

const pushesOf = (messenger: Messenger) => serviceOf(messenger, PushEndpointService)

export async function pushSettings(messenger: Messenger): Promise<PushSettings | undefined> {
  const { kinds, publicKey } = await pushesOf(messenger).getPushSettings({})
  const known = kinds.flatMap((kind): PushEndpoint["is"][] => {
    if (kind === Kind.WEB_PUSH) return ["webPush"]
    return kind === Kind.WEBHOOK ? ["webhook"] : []
  })
  return known.length === 0 ? undefined : { kinds: known, publicKey }
}

export async function setPushEndpoint(messenger: Messenger, { is, url }: PushEndpoint): Promise<Uint8Array> {
  const kind = is === "webPush" ? Kind.WEB_PUSH : Kind.WEBHOOK
  return (await pushesOf(messenger).setPushEndpoint({ kind, url })).registrationId
}

export async function deletePushEndpoint(messenger: Messenger): Promise<void> {
  await pushesOf(messenger).deletePushEndpoint({})
}
