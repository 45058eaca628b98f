// Previews for a notification, over the native side.
import type { MessagingConfig } from "@signet/client/messaging"
import type { Peeked } from "@signet/client/messaging/peek"
import { PeekOutcome, PeekService } from "@signet/proto/client/v1/peek_service"
import { callsOf, type RemoteCore } from "../core/messaging/remote/core.ts"
import { answerRefused, entryOf } from "../core/messaging/remote/from-messages.ts"
import { toClientError } from "./errors.ts"

export interface PeekRequest {
  readonly messaging: MessagingConfig
  /** Audience of the messaging service. Default: the auth service's own. */
  readonly audience?: string
}

export async function peekOver(core: RemoteCore, { messaging, audience = "" }: PeekRequest): Promise<Peeked> {
  const { baseUrl, issuerRootKeys } = messaging
  const request = { baseUrl, audience, issuerRootKeys: [...issuerRootKeys] }
  const { outcome, previews, hasMore } = await callsOf(core, PeekService, toClientError).peek(request)
  if (outcome !== PeekOutcome.PREVIEWS) return { is: "newMessages" }
  return {
    is: "previews",
    hasMore,
    previews: previews.map(({ conversationId, entry: message }) => {
      const entry = entryOf(message)
      if (entry.is !== "message" && entry.is !== "attachment") throw answerRefused()
      return { conversationId, entry }
    }),
  }
}
