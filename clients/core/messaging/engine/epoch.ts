import { wipe } from "../crypto/bytes.ts"
import type { Kit } from "./kit.ts"
import type { EpochSecrets } from "./state.ts"
import {
  createConfirmationTag,
  type FramedContentCommit,
  type GroupContext,
  initializeEpoch,
  type KeySchedule,
  nextEpochContext,
} from "./ts-mls.ts"

const noPsk = () => new Uint8Array(32)

/** The key schedule of a new epoch (RFC 9420 section 8). */
export interface NewEpoch {
  readonly context: GroupContext
  readonly confirmationTag: Uint8Array
  readonly secrets: EpochSecrets
  readonly encryptionSecret: Uint8Array
  readonly joinerSecret: Uint8Array
  readonly welcomeSecret: Uint8Array
}

/**
 * Derives the epoch after a commit.
 *
 * @param before The context and confirmation tag of the epoch in which the commit was framed.
 * @param commitSecret Wiped by this function; 32 zero bytes without a path.
 */
export async function advance(
  kit: Kit,
  before: { readonly context: GroupContext; readonly confirmationTag: Uint8Array; readonly init: Uint8Array },
  commit: { readonly content: FramedContentCommit; readonly signature: Uint8Array },
  newTreeHash: Uint8Array,
  commitSecret: Uint8Array,
): Promise<NewEpoch> {
  const { cs } = kit
  const context = await nextEpochContext(
    before.context,
    "mls_public_message",
    commit.content,
    commit.signature,
    newTreeHash,
    before.confirmationTag,
    cs.hash,
  )
  const { keySchedule, ...rest } = await initializeEpoch(before.init, commitSecret, context, noPsk(), cs.kdf)
  commitSecret.fill(0)
  const { confirmationKey } = keySchedule
  const confirmationTag = await createConfirmationTag(confirmationKey, context.confirmedTranscriptHash, cs.hash)
  return { context, confirmationTag, secrets: keepNeeded(keySchedule), ...rest }
}

/** Returns the four secrets that an epoch needs, and wipes those for exporters, resumption and external joins. */
export function keepNeeded(schedule: KeySchedule): EpochSecrets {
  const { initSecret, senderDataSecret, membershipKey, epochAuthenticator } = schedule
  const { confirmationKey, exporterSecret, externalSecret, resumptionPsk } = schedule
  wipe([confirmationKey, exporterSecret, externalSecret, resumptionPsk])
  return {
    init: initSecret,
    senderData: senderDataSecret,
    membership: membershipKey,
    authenticator: epochAuthenticator,
  }
}
