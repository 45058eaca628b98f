// Signs credentials, lists, proofs and receipts of the issuer and of backends: kernel facts in, canonical bytes out.
import { absent } from "@signet/canonical/bytes"
import { issueClaimTicket } from "@signet/canonical/claim-ticket"
import { issueCommitReceipt } from "@signet/canonical/commit-receipt"
import { issueDeviceCredential } from "@signet/canonical/device-credential"
import { issueDeviceList } from "@signet/canonical/device-list"
import { hash, issuerIdOf } from "@signet/canonical/hash"
import { issueMembershipProof } from "@signet/canonical/membership-proof"
import { idBytes } from "@signet/kernel/ids"
import type { CredentialAuthority, ReceiptSigner, TicketSigner } from "@signet/kernel/messaging/authority"
import type { MembershipOp } from "@signet/kernel/messaging/membership"
import type { Place } from "@signet/kernel/messaging/records"
import { DeviceStatus } from "@signet/proto/credential/v1/device_list"
import { MembershipOp as WireOp } from "@signet/proto/credential/v1/policy_proof"
import type { IssuerKeyRing } from "./issuer-keys.ts"

type Keys = Pick<IssuerKeyRing, "signer" | "keySet">

const ops: Record<MembershipOp, WireOp> = {
  CREATE: WireOp.CREATE,
  ADD: WireOp.ADD,
  REMOVE: WireOp.REMOVE,
  LEAVE: WireOp.LEAVE,
  REJOIN: WireOp.REJOIN,
  RESET: WireOp.RESET,
}

/** @param issuer The issuer's URL. */
export function createAuthority(keys: Keys, issuer: string): CredentialAuthority {
  const issuerId = issuerIdOf(issuer)
  return {
    async issueCredential({ place, userId, deviceId, leafKey, serial, notBeforeMs, notAfterMs, flags }) {
      const bytes = await issueDeviceCredential(
        {
          issuerId,
          ...placeBytes(place),
          userId: idBytes(userId),
          deviceId: idBytes(deviceId),
          leafSignatureKey: leafKey,
          serial,
          notBefore: seconds(notBeforeMs),
          notAfter: seconds(notAfterMs),
          flags,
        },
        keys.signer("CREDENTIAL"),
      )
      return { bytes, hash: hash("device-credential", bytes) }
    },

    async signDeviceList({ place, userId, version, previousHash, entries, issuedAtMs }) {
      const bytes = await issueDeviceList(
        {
          issuerId,
          ...placeBytes(place),
          userId: idBytes(userId),
          listVersion: version,
          previousHash: previousHash ?? absent,
          entries: entries.map(({ id, credentialHash, status, changedAtMs }) => ({
            deviceId: idBytes(id),
            credentialHash,
            status: status === "ACTIVE" ? DeviceStatus.ACTIVE : DeviceStatus.REVOKED,
            changedAt: seconds(changedAtMs),
          })),
          issuedAt: seconds(issuedAtMs),
        },
        keys.signer("LIST"),
      )
      return { version, bytes, hash: hash("device-list", bytes) }
    },

    async issueProof(of) {
      const bytes = await issueMembershipProof(
        {
          issuerId,
          ...placeBytes(of.place),
          conversationId: idBytes(of.conversationId),
          mlsGroupId: of.mlsGroupId,
          baseEpoch: of.baseEpoch,
          baseStateTag: of.baseStateTag ?? absent,
          op: ops[of.op],
          added: of.added.map(({ credentialHash, keyPackageRef }) => ({ credentialHash, keyPackageRef })),
          removed: of.removed.map((credentialHash) => ({ credentialHash })),
          requester: of.requester ?? absent,
          decisionId: idBytes(of.decisionId),
          issuedAt: seconds(of.issuedAtMs),
          policyVersion: of.policyVersion,
        },
        keys.signer("PROOF"),
      )
      return { bytes, hash: hash("membership-proof", bytes) }
    },

    issuerKeySet: () => keys.keySet()?.issuerKeySet,
  }
}

/** @param issuer The issuer's URL. */
export function createReceiptSigner(keys: Keys, issuer: string): ReceiptSigner {
  const issuerId = issuerIdOf(issuer)
  return (facts) => {
    const bytes = issueCommitReceipt(
      {
        issuerId,
        conversationId: idBytes(facts.conversationId),
        mlsGroupId: facts.mlsGroupId,
        epoch: facts.epoch,
        seq: facts.seq,
        commitHash: facts.commitHash,
        proofHash: facts.proofHash ?? absent,
        groupInfoHash: facts.groupInfoHash,
        treeBlobHash: facts.treeBlobHash ?? absent,
        previousReceiptHash: facts.previousReceiptHash ?? absent,
        acceptedAtMs: BigInt(facts.acceptedAtMs),
        resultingStateTag: facts.resultingStateTag,
      },
      keys.signer("RECEIPT"),
    )
    return { bytes, hash: hash("commit-receipt", bytes) }
  }
}

/** @param issuer The issuer's URL. */
export function createTicketSigner(keys: Keys, issuer: string): TicketSigner {
  const issuerId = issuerIdOf(issuer)
  return (facts) =>
    issueClaimTicket(
      {
        issuerId,
        ...placeBytes(facts.place),
        claimId: idBytes(facts.claimId),
        conversationId: idBytes(facts.conversationId),
        requesterDeviceId: idBytes(facts.requesterDeviceId),
        packages: facts.packages.map(({ deviceId, credentialHash, keyPackageRef }) => ({
          deviceId: idBytes(deviceId),
          credentialHash,
          keyPackageRef,
        })),
        issuedAt: seconds(facts.issuedAtMs),
      },
      keys.signer("RECEIPT"),
    )
}

const placeBytes = ({ appId, tenantId }: Place) => ({
  appId: idBytes(appId),
  tenantId: tenantId === null ? absent : idBytes(tenantId),
})

const seconds = (ms: number): bigint => BigInt(Math.floor(ms / 1_000))
