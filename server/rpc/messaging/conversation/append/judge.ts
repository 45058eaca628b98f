// What the checks of a commit are made with, and the shapes that they hand on.
import type { Verify } from "@signet/canonical/ed25519"
import type { IssuerKeys } from "@signet/canonical/issuer-keys"
import { idBytes, type WelcomeId } from "@signet/kernel/ids"
import type { Conversation, MessagingDevice } from "@signet/kernel/messaging/records"
import type { RatchetTree } from "../../../../framing/tree.ts"
import { placeBytes, unixSeconds } from "../../place.ts"

export interface Judge {
  /** Of a reset, the conversation before it: in the new group nobody is in yet. */
  readonly conversation: Conversation
  /** The commit that the conversation's group begins with, or the one of another group that replaces it. */
  readonly begins: "create" | "reset" | null
  /** The calling device. */
  readonly device: MessagingDevice
  readonly issuerKeys: IssuerKeys
  readonly verify: Verify
  readonly nowMs: number
  /** Of the epoch that the commit is framed in; undefined before the first one. */
  readonly tree: RatchetTree | undefined
  readonly newWelcomeId: () => WelcomeId
}

/** What every signed paper of a conversation must say: where it is, and that it is good now. */
export function papersOf({ conversation, issuerKeys, verify, nowMs }: Judge) {
  return {
    issuerKeys,
    verify,
    ...placeBytes(conversation),
    conversationId: idBytes(conversation.id),
    atSeconds: unixSeconds(nowMs),
  }
}
