// The auth service as signer of credentials, lists and proofs: each call includes the token of the backend's caller.
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { hash } from "@signet/canonical/hash"
import { Refused } from "@signet/kernel/errors"
import type { CredentialAuthority, RequesterEvidence } from "@signet/kernel/messaging/authority"
import type { Place } from "@signet/kernel/messaging/records"
import {
  AuthorityService,
  IssueProofRequest_Op,
  ListedDevice_Status,
} from "@signet/proto/authority/v1/authority_service"
import { callerToken } from "../caller-token.ts"
import type { CallAuth } from "./call.ts"

/** @param issuerKeySet The verified key set of this backend. */
export function signing(call: CallAuth, issuerKeySet: CredentialAuthority["issuerKeySet"]): CredentialAuthority {
  return {
    async issueCredential({ place, userId, deviceId, serial, notBeforeMs, notAfterMs }, deviceRequest) {
      const { credential } = await call(AuthorityService.method.issueCredential, {
        callerToken: requiredToken(),
        place: placeShape(place),
        userId,
        deviceId,
        deviceRequest,
        serial,
        notBefore: timestampFromMs(notBeforeMs),
        notAfter: timestampFromMs(notAfterMs),
      })
      return { bytes: credential, hash: hash("device-credential", credential) }
    },

    async signDeviceList({ place, userId, version, previousHash, entries, issuedAtMs, previous }) {
      const { deviceList } = await call(AuthorityService.method.signDeviceList, {
        // Nobody calls on behalf of a removed user.
        callerToken: callerToken() ?? "",
        place: placeShape(place),
        userId,
        version,
        previousHash: previousHash ?? new Uint8Array(),
        entries: entries.map(({ id, credentialHash, status, changedAtMs }) => ({
          deviceId: id,
          credentialHash,
          status: ListedDevice_Status[status],
          changedAt: timestampFromMs(changedAtMs),
        })),
        issuedAt: timestampFromMs(issuedAtMs),
        previousList: previous ?? new Uint8Array(),
      })
      return { version, bytes: deviceList, hash: hash("device-list", deviceList) }
    },

    async issueProof(of, evidence) {
      const { proof } = await call(AuthorityService.method.issueProof, {
        callerToken: requiredToken(),
        place: placeShape(of.place),
        conversationId: of.conversationId,
        mlsGroupId: of.mlsGroupId,
        op: IssueProofRequest_Op[of.op],
        baseEpoch: of.baseEpoch,
        baseStateTag: of.baseStateTag ?? new Uint8Array(),
        added: of.added.map(({ credentialHash, keyPackageRef }) => ({ credentialHash, keyPackageRef })),
        removed: [...of.removed],
        requester: of.requester ?? new Uint8Array(),
        ...(of.requester === null ? {} : { requesterPaper: evidenceShape(await evidence()) }),
        decisionId: of.decisionId,
        issuedAt: timestampFromMs(of.issuedAtMs),
        policyVersion: of.policyVersion,
      })
      return { bytes: proof, hash: hash("membership-proof", proof) }
    },

    issuerKeySet,
  }
}

function requiredToken(): string {
  const token = callerToken()
  if (token === undefined || token === "") {
    throw new Refused("INTERNAL", { cause: new Error("the auth service signs this only for a caller") })
  }
  return token
}

const evidenceShape = ({ is, bytes: value }: RequesterEvidence) =>
  is === "credential" ? { case: "requesterCredential" as const, value } : { case: "requesterList" as const, value }

export const placeShape = ({ appId, tenantId }: Place) => ({ appId, tenantId: tenantId ?? "" })
