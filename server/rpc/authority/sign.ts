// Signs credentials, lists and proofs for a backend, after the facts are verified.

import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt"
import type { HandlerContext } from "@connectrpc/connect"
import { maxCredentialSeconds } from "@signet/canonical/device-credential"
import { CanonicalError } from "@signet/canonical/errors"
import { Refused } from "@signet/kernel/errors"
import { type IdKinds, type PrincipalId, parseId } from "@signet/kernel/ids"
import { backendSkewMs, mayProve } from "@signet/kernel/messaging/backend"
import { maxCount } from "@signet/kernel/messaging/limits"
import type { MembershipOp } from "@signet/kernel/messaging/membership"
import type { Place } from "@signet/kernel/messaging/records"
import {
  type IssueCredentialRequest,
  type IssueProofRequest,
  ListedDevice_Status,
  IssueProofRequest_Op as Op,
  type SignDeviceListRequest,
} from "@signet/proto/authority/v1/authority_service"
import { earlyMs, flagsOf, openDeviceRequest } from "../messaging/device/device-credential.ts"
import { invalid, notTheCallers, servedPlace } from "./backend.ts"
import { callerBehind, deviceBehind, requireAdministrator } from "./caller.ts"
import type { AuthorityDeps } from "./deps.ts"
import { requireOnlyRevocations } from "./only-revocations.ts"
import { checkRequester, openList } from "./requester.ts"

export async function issueCredential(
  deps: AuthorityDeps,
  context: HandlerContext,
  request: IssueCredentialRequest,
): Promise<Uint8Array> {
  const place = await servedPlace(deps, context, request.place)
  const userId = idIn("prn", request.userId, "user_id")
  const caller = await callerBehind(deps, context, request.callerToken, place)
  if (caller.userId !== userId) throw notTheCallers("user_id")
  const { body } = openDeviceRequest(deps, { userId, place }, request.deviceRequest)
  const notBeforeMs = msOf(request.notBefore, "not_before")
  const notAfterMs = msOf(request.notAfter, "not_after")
  const nowMs = deps.clock.nowMs()
  if (Math.abs(notBeforeMs + earlyMs - nowMs) > backendSkewMs) throw invalid("not_before")
  const lifeMs = notAfterMs - notBeforeMs
  if (notAfterMs <= nowMs || lifeMs > Number(maxCredentialSeconds) * 1_000) throw invalid("not_after")
  const facts = {
    place,
    userId,
    deviceId: idIn("dev", request.deviceId, "device_id"),
    leafKey: body.leafSignatureKey,
    serial: request.serial,
    notBeforeMs,
    notAfterMs,
    flags: flagsOf(body),
  }
  const { bytes } = await sound(() => deps.authority.issueCredential(facts, request.deviceRequest))
  return bytes
}

export async function signDeviceList(
  deps: AuthorityDeps,
  context: HandlerContext,
  request: SignDeviceListRequest,
): Promise<Uint8Array> {
  const place = await servedPlace(deps, context, request.place)
  const userId = idIn("prn", request.userId, "user_id")
  const active = request.entries.filter(({ status }) => status === ListedDevice_Status.ACTIVE)
  if (request.callerToken === "") await requireGone(deps, { userId, place }, active.length)
  else if (request.previousList.length > 0) {
    await requireAdministrator(deps, context, request.callerToken, place)
    requireOnlyRevocations(openList(deps, { userId, place }, request.previousList), request)
  } else if ((await callerBehind(deps, context, request.callerToken, place)).userId !== userId)
    throw notTheCallers("user_id")
  if (active.length > maxCount.devicesPerUser) throw invalid("entries")
  const list = {
    place,
    userId,
    version: request.version,
    previousHash: orNull(request.previousHash),
    entries: request.entries.map((entry) => ({
      id: idIn("dev", entry.deviceId, "entries"),
      credentialHash: entry.credentialHash,
      status: entry.status === ListedDevice_Status.ACTIVE ? ("ACTIVE" as const) : ("REVOKED" as const),
      changedAtMs: msOf(entry.changedAt, "entries"),
    })),
    issuedAtMs: aboutNow(deps, request.issuedAt, "issued_at"),
  }
  return (await sound(() => deps.authority.signDeviceList(list))).bytes
}

/** Requires that the user is removed. Without a caller, the authority signs only a list with no active device. */
async function requireGone(
  { store }: AuthorityDeps,
  { userId, place }: { userId: PrincipalId; place: Place },
  activeEntries: number,
): Promise<void> {
  const gone = await store.members.goneUsers([userId], place)
  if (gone.length === 0 || activeEntries > 0) throw notTheCallers("user_id")
}

export async function issueProof(
  deps: AuthorityDeps,
  context: HandlerContext,
  request: IssueProofRequest,
): Promise<Uint8Array> {
  const place = await servedPlace(deps, context, request.place)
  const caller = await callerBehind(deps, context, request.callerToken, place)
  const deviceId = await deviceBehind(deps, caller)
  const op = opNames[request.op]
  const requester = orNull(request.requester)
  if (op === undefined || !mayProve(op, requester !== null, request.added.length)) throw notTheCallers("op")
  if (requester !== null) checkRequester(deps, { userId: caller.userId, place, deviceId }, request)
  if (request.policyVersion !== BigInt(caller.permVer)) throw notTheCallers("policy_version")
  const facts = {
    place,
    conversationId: idIn("cnv", request.conversationId, "conversation_id"),
    mlsGroupId: request.mlsGroupId,
    op,
    baseEpoch: request.baseEpoch,
    baseStateTag: orNull(request.baseStateTag),
    added: request.added.map(({ credentialHash, keyPackageRef }) => ({ credentialHash, keyPackageRef })),
    removed: request.removed,
    requester,
    decisionId: idIn("dcn", request.decisionId, "decision_id"),
    issuedAtMs: aboutNow(deps, request.issuedAt, "issued_at"),
    policyVersion: request.policyVersion,
  }
  // The requester's credential is verified above, so the authority requests none.
  const { bytes } = await sound(() => deps.authority.issueProof(facts, () => Promise.reject(new Error("no evidence"))))
  return bytes
}

const opNames: Partial<Record<Op, MembershipOp>> = {
  [Op.CREATE]: "CREATE",
  [Op.ADD]: "ADD",
  [Op.REMOVE]: "REMOVE",
  [Op.LEAVE]: "LEAVE",
  [Op.REJOIN]: "REJOIN",
  [Op.RESET]: "RESET",
}

/** A value without a canonical form is the backend's error. @throws Refused INVALID_FIELD */
async function sound<T>(sign: () => Promise<T>): Promise<T> {
  try {
    return await sign()
  } catch (error) {
    if (error instanceof CanonicalError) throw new Refused("INVALID_FIELD", { metadata: { code: error.code } })
    throw error
  }
}

function aboutNow({ clock }: AuthorityDeps, time: Timestamp | undefined, field: string): number {
  const ms = msOf(time, field)
  if (Math.abs(ms - clock.nowMs()) > backendSkewMs) throw invalid(field)
  return ms
}

function msOf(time: Timestamp | undefined, field: string): number {
  if (time === undefined) throw invalid(field)
  return timestampMs(time)
}

export function idIn<K extends keyof IdKinds>(kind: K, text: string, field: string): IdKinds[K] {
  const id = parseId(kind, text)
  if (id === undefined) throw invalid(field)
  return id
}

const orNull = (bytes: Uint8Array): Uint8Array | null => (bytes.length === 0 ? null : bytes)
