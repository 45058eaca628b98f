import { createContentCommitSignature, type FramedContentCommit } from "ts-mls/framedContent.js"
import { extractWelcomeSecret, type GroupInfo, signGroupInfo } from "ts-mls/groupInfo.js"
import { decodeGroupSecrets, encodeGroupSecrets, type GroupSecrets } from "ts-mls/groupSecrets.js"
import { type KeyPackage, makeKeyPackageRef, signKeyPackage } from "ts-mls/keyPackage.js"
import { deriveKeySchedule } from "ts-mls/keySchedule.js"
import { signLeafNodeKeyPackage } from "ts-mls/leafNode.js"
import { encodeMlsMessage } from "ts-mls/message.js"
import { protectPublicMessage } from "ts-mls/messageProtectionPublic.js"
import type { Proposal } from "ts-mls/proposal.js"
import type { ProposalOrRef } from "ts-mls/proposalOrRefType.js"
import type { Sender } from "ts-mls/sender.js"
import type { UpdatePath } from "ts-mls/updatePath.js"
import { encryptGroupInfo, type Welcome } from "ts-mls/welcome.js"
import type { Suite } from "../crypto/suite.ts"
import { stageAdd } from "../engine/commit.ts"
import { type Identity, readKeyPackage } from "../engine/key-package.ts"
import { type Kit, makeKit } from "../engine/kit.ts"
import { sealingInfo } from "../engine/path.ts"
import { type GroupState, opened } from "../engine/state.ts"
import { decoded } from "./bare-seat.ts"
import { deviceOf, today } from "./our-seat.ts"

export function testKit(suite: Suite): Kit {
  return makeKit(suite, { nowSeconds: () => today, deviceOf })
}

export interface Forgery {
  readonly proposals?: readonly (Proposal | ProposalOrRef)[]
  readonly path?: UpdatePath
  readonly sender?: Sender
}

/**
 * A commit of a malicious member: any content, with a valid signature and membership tag. Its confirmation tag is
 * wrong, so the last check of a receiver always refuses it.
 */
export async function forgeCommit(suite: Suite, state: GroupState, forgery: Forgery): Promise<Uint8Array> {
  const { context, ownLeaf, identityKey } = opened(state)
  const { cs } = testKit(suite)
  const proposals = (forgery.proposals ?? []).map((entry): ProposalOrRef => {
    return "proposalOrRefType" in entry ? entry : { proposalOrRefType: "proposal", proposal: entry }
  })
  const { framedContent, signature } = await createContentCommitSignature(
    context,
    "mls_public_message",
    { proposals, path: forgery.path },
    forgery.sender ?? { senderType: "member", leafIndex: ownLeaf },
    new Uint8Array(),
    identityKey,
    cs.signature,
  )
  return frame(suite, state, framedContent, signature)
}

async function frame(suite: Suite, state: GroupState, content: FramedContentCommit, signature: Uint8Array) {
  const { context, epochSecrets } = opened(state)
  const auth = { contentType: "commit", signature, confirmationTag: new Uint8Array(32) } as const
  const whole = { wireformat: "mls_public_message", content, auth } as const
  const publicMessage = await protectPublicMessage(epochSecrets.membership, context, whole, testKit(suite).cs)
  return encodeMlsMessage({ version: "mls10", wireformat: "mls_public_message", publicMessage })
}

/** Changes a key package, and signs its leaf and the package again. */
export async function forgeKeyPackage(
  suite: Suite,
  bytes: Uint8Array,
  identity: Identity,
  bend: (keyPackage: KeyPackage) => Partial<KeyPackage>,
): Promise<KeyPackage> {
  const { signature } = testKit(suite).cs
  const made = readKeyPackage(bytes)
  const bent = { ...made, ...bend(made) }
  const leafNode = await signLeafNodeKeyPackage(bent.leafNode, identity.key, signature)
  return signKeyPackage({ ...bent, leafNode }, identity.key, signature)
}

export interface WelcomeForgery {
  /**
   * Changes the GroupInfo, which the adder or `signedWith` signs again. Its confirmation tag is valid unless changed
   * here.
   */
  readonly info?: (info: GroupInfo) => Partial<GroupInfo>
  readonly signedWith?: Uint8Array
  readonly secrets?: (secrets: GroupSecrets) => Partial<GroupSecrets>
  readonly welcome?: (welcome: Welcome) => Partial<Welcome>
  /** The key package in the tree, if it differs from the one that the Welcome is for. */
  readonly added?: Uint8Array
}

const noPsk = new Uint8Array(32)

/** A Welcome of a malicious member, which decrypts and matches its state, and its tree. */
export async function forgeWelcome(
  suite: Suite,
  state: GroupState,
  bytes: Uint8Array,
  { info = () => ({}), signedWith, secrets = () => ({}), welcome = () => ({}), added = bytes }: WelcomeForgery,
): Promise<{ readonly welcome: Uint8Array; readonly tree: Uint8Array }> {
  const kit = testKit(suite)
  const { cs, hpke } = kit
  const sealed: Uint8Array[] = []
  const listening: Kit = {
    ...kit,
    hpke: {
      ...hpke,
      seal(key, label, plaintext) {
        sealed.push(plaintext.slice())
        return hpke.seal(key, label, plaintext)
      },
    },
  }
  const staged = await stageAdd(listening, state, [added], { aad: new Uint8Array() })
  const honest = decodeGroupSecrets(sealed[0] ?? new Uint8Array(), 0)?.[0]
  const message = decoded(staged.groupInfo)
  if (honest === undefined || message.wireformat !== "mls_group_info") throw new Error("no Welcome")
  const told = { ...honest, ...secrets(honest) }
  const shown = { ...message.groupInfo, ...info(message.groupInfo) }
  const [schedule] = await deriveKeySchedule(told.joinerSecret, noPsk, shown.groupContext, cs.kdf)
  const right = await suite.mac(schedule.confirmationKey, shown.groupContext.confirmedTranscriptHash)
  const isBent = shown.confirmationTag !== message.groupInfo.confirmationTag
  const confirmationTag = isBent ? shown.confirmationTag : right
  const key = signedWith ?? opened(state).identityKey
  const groupInfo = await signGroupInfo({ ...shown, confirmationTag }, key, cs.signature)
  const welcomeSecret = await extractWelcomeSecret(told.joinerSecret, noPsk, cs.kdf)
  const encryptedGroupInfo = await encryptGroupInfo(groupInfo, welcomeSecret, cs)
  const keyPackage = readKeyPackage(bytes)
  const label = sealingInfo("Welcome", encryptedGroupInfo)
  const { enc, ciphertext } = await hpke.seal(keyPackage.initKey, label, encodeGroupSecrets(told))
  const newMember = await makeKeyPackageRef(keyPackage, cs.hash)
  const whole: Welcome = {
    cipherSuite: cs.name,
    secrets: [{ newMember, encryptedGroupSecrets: { kemOutput: enc, ciphertext } }],
    encryptedGroupInfo,
  }
  const sent = { ...whole, ...welcome(whole) }
  return {
    welcome: encodeMlsMessage({ version: "mls10", wireformat: "mls_welcome", welcome: sent }),
    tree: staged.tree(),
  }
}
