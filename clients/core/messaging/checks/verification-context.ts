import type { ConversationRecord } from "@signet/proto/client/v1/records"
import type { Ambient, Trust } from "../deps.ts"
import { type Realm, realmOf } from "./credential.ts"

/** The expected values for the commits and welcomes of a conversation. */
export interface VerificationContext extends Realm {
  readonly conversationId: string
  readonly record: ConversationRecord
  readonly nowMs: number
}

/** @throws MessagingError ISSUER_KEYS_REFUSED */
export const verificationContextOf = (
  context: Trust & Pick<Ambient, "clock">,
  conversationId: string,
  record: ConversationRecord,
): VerificationContext => ({ ...realmOf(context), conversationId, record, nowMs: context.clock.nowMs() })
