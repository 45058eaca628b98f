// PushEndpointService over the messenger of the signed-in user.
import { PushEndpointKind as Kind, type PushEndpointService } from "@signet/proto/client/v1/push_endpoint_service"
import {
  deletePushEndpoint,
  type PushEndpoint,
  pushSettings,
  setPushEndpoint,
} from "../../../core/messaging/push/index.ts"
import { ArgumentError } from "../failure.ts"
import type { Handlers } from "./handlers.ts"
import type { MessengerHolder } from "./messenger.ts"

const kinds = { webPush: Kind.WEB_PUSH, webhook: Kind.WEBHOOK } as const satisfies Record<PushEndpoint["is"], Kind>

export function pushHandlers(holder: MessengerHolder): Handlers<(typeof PushEndpointService)["method"]> {
  return {
    async getPushSettings() {
      const found = await pushSettings(holder.messenger)
      return found === undefined ? {} : { kinds: found.kinds.map((kind) => kinds[kind]), publicKey: found.publicKey }
    },
    async setPushEndpoint({ kind, url }) {
      const endpoint = endpointOf(kind, url)
      return { registrationId: await setPushEndpoint(holder.messenger, endpoint) }
    },
    async deletePushEndpoint() {
      await deletePushEndpoint(holder.messenger)
      return {}
    },
  }
}

function endpointOf(kind: Kind, url: string): PushEndpoint {
  if (kind === Kind.WEB_PUSH) return { is: "webPush", url }
  if (kind === Kind.WEBHOOK) return { is: "webhook", url }
  throw new ArgumentError("kind must be WEB_PUSH or WEBHOOK")
}
