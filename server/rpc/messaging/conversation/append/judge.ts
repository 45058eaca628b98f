// The inputs and results of a commit's checks.
import type { Verify } from "@signet/canonical/ed25519"
import type { IssuerKeys } from "@signet/canonical/issuer-keys"
import { idBytes, type WelcomeId } from "@signet/kernel/ids"
import type { Conversation, MessagingDevice } from "@signet/kernel/messaging/records"
import type { RatchetTree } from "../../../../framing/tree.ts"
import { placeBytes, unixSeconds } from "../../place.ts"

export interface Judge {
  /** For a reset, the conversation before it: the new group has no members yet. */
  readonly conversation: Conversation
  /**
   * "create" for a conversation's first commit, "reset" for the first commit of a new group that replaces the current
   * one.
   */
  readonly begins: "create" | "reset" | null
  /** The committer. */
  readonly device: Pick<MessagingDevice, "id" | "userId">
  readonly issuerKeys: IssuerKeys
  readonly verify: Verify
  /** The time for which proof and credentials must be valid. */
  readonly nowMs: number
  /** The ratchet tree of the commit's epoch; undefined before the first epoch. */
  readonly tree: RatchetTree | undefined
}

/** The inputs for a commit of the calling device. */
export interface CallJudge extends Judge {
  readonly device: MessagingDevice
  readonly newWelcomeId: () => WelcomeId
}

/** The expectations of every signed object of a conversation: its place, and that it is valid now. */
export function expectedOf({ conversation, issuerKeys, verify, nowMs }: Omit<Judge, "device">) {
  return {
    issuerKeys,
    verify,
    ...placeBytes(conversation),
    conversationId: idBytes(conversation.id),
    atSeconds: unixSeconds(nowMs),
  }
}
