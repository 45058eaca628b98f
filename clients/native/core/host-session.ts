import type { HostSession } from "@signet/proto/host/v1/host"
import type { MessagingSession } from "../../core/messaging/session.ts"
import { perform } from "./effects.ts"

/** The sign-in of the host, which issues the tokens. */
export function hostSession({ appId, tenantId, userId }: HostSession): MessagingSession {
  const token = async (renew: boolean) =>
    (await perform({ case: "accessToken", value: { renew } }, "accessToken")).token
  return {
    ...{ appId, userId, tenantId: tenantId || undefined },
    accessToken: () => token(false),
    renewToken: () => token(true),
  }
}
