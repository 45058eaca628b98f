// Authorizations that differ from the request in one field.
import { create } from "@bufbuild/protobuf"
import { verifyEd25519 } from "@signet/canonical/ed25519"
import { hash } from "@signet/canonical/hash"
import { ConversationRecordSchema } from "@signet/proto/client/v1/records"
import { MembershipOp } from "@signet/proto/credential/v1/policy_proof"
import { AuthorizationSchema, ClaimedKeyPackageSchema } from "@signet/proto/messaging/v1/records"
import { expect, test } from "vitest"
import { issueMembershipProof } from "../../../../proto/canonical/membership-proof.ts"
import * as world from "../../../../proto/canonical/testing/world.ts"
import { idOf } from "../ids.ts"
import { acceptCommit, stateTag } from "../mls.ts"
import { signedEngine as engine, signedLifetime as lifetime, signedIdentity } from "../testing/signed-group.ts"
import {
  type Authorized,
  allowedKeyPackages,
  checkAuthorizedChange,
  checkKeyPackage,
  verifyAuthorization,
} from "./authorization.ts"
import type { VerificationContext } from "./verification-context.ts"

const { bob, appId, tenantId, bytes32, id, now, day, mlsGroupId } = world
const verification: VerificationContext = {
  issuerKeys: world.issuerKeys,
  tenantId,
  appId,
  verify: verifyEd25519,
  conversationId: idOf("cnv", world.conversationId),
  record: create(ConversationRecordSchema, { isDirect: false }),
  nowMs: Number(now) * 1_000,
}

const [own, bobsPhone, bobsTablet] = [
  await signedIdentity(),
  await signedIdentity({ userId: bob, deviceId: id(0x68) }),
  await signedIdentity({ userId: bob, deviceId: id(0x69) }),
]
const first = await engine.createGroup({ groupId: mlsGroupId, identity: own, ...lifetime })
const packages = [await engine.newKeyPackage(bobsPhone, lifetime), await engine.newKeyPackage(bobsTablet, lifetime)]
const added = await engine.add(
  first,
  packages.map(({ keyPackage }) => keyPackage),
  { aad: new Uint8Array() },
)
const tagOfFirst = stateTag(first)
const group = acceptCommit(first, added)
const [deviceA, deviceB, deviceC] = [idOf("dev", world.phone), idOf("dev", id(0x68)), idOf("dev", id(0x69))]
const hashOf = ({ credential }: { readonly credential: Uint8Array }) => hash("device-credential", credential)
const requester = hashOf(own)
const newcomer = { credentialHash: bytes32(0xa1), keyPackageRef: bytes32(0xb1) }

const proofOf = (change: object = {}) =>
  issueMembershipProof(
    { ...world.proofFields, baseEpoch: 1n, baseStateTag: stateTag(group), requester, added: [newcomer], ...change },
    world.proofKey,
  )
const authorized = (does: Authorized["does"], proof: Uint8Array, removedDeviceIds: string[] = []): Authorized => ({
  does,
  authorization: create(AuthorizationSchema, { proof, removedDeviceIds }),
  isAsked: ({ userId }) => userId === idOf("prn", bob),
})
const reset = { op: MembershipOp.RESET, baseStateTag: bytes32(5) }
const { baseStateTag: _, ...bare } = world.proofFields
const creation = await issueMembershipProof(
  { ...bare, op: MembershipOp.CREATE, baseEpoch: 0n, requester, added: [newcomer] },
  world.proofKey,
)

test("a proof of this group's state and of the requested operation is verified", async () => {
  const verified = verifyAuthorization(verification, group, authorized("add", await proofOf()))
  expect(verified.body.op).toBe(MembershipOp.ADD)
  // A reset names the state of a group that this device is not in.
  verifyAuthorization(verification, group, authorized("reset", await proofOf(reset)))
  const empty = await engine.createGroup({ groupId: mlsGroupId, identity: own, ...lifetime })
  verifyAuthorization(verification, empty, authorized("add", creation))
})

test.each<[string, Authorized["does"], object, string]>([
  ["of another state", "add", { baseStateTag: tagOfFirst }, "PROOF_FORK"],
  ["of an earlier epoch", "add", { baseEpoch: 0n }, "PROOF_STALE"],
  ["of another group", "add", { mlsGroupId: bytes32(0x12) }, "PROOF_WRONG_GROUP"],
  ["of another conversation", "add", { conversationId: id(0x7a) }, "PROOF_WRONG_CONVERSATION"],
  ["of another tenant", "add", { tenantId: id(0x23) }, "PROOF_WRONG_TENANT"],
  ["of a reset that was not requested", "add", { op: MembershipOp.RESET }, "another operation"],
  ["of an addition in the place of a reset", "reset", {}, "another operation"],
])("a proof %s is refused", async (_, does, change, message) => {
  const signed = await proofOf(change)
  expect(() => verifyAuthorization(verification, group, authorized(does, signed))).toThrow(message)
})

test("only the first proof of a group may be for its creation", async () => {
  const empty = await engine.createGroup({ groupId: mlsGroupId, identity: own, ...lifetime })
  const signed = await proofOf({ baseEpoch: 0n, baseStateTag: stateTag(empty) })
  expect(() => verifyAuthorization(verification, empty, authorized("add", signed))).toThrow("another operation")
})

test("only claimed key packages that the proof names are allowed", () => {
  const claimed = (ref: number) => create(ClaimedKeyPackageSchema, { keyPackageRef: bytes32(ref) })
  const answer = { keyPackageRefs: [bytes32(1)], claim: { keyPackages: [claimed(1), claimed(2)] } }
  expect(allowedKeyPackages(create(AuthorizationSchema, answer))).toEqual([claimed(1)])
  expect(allowedKeyPackages(create(AuthorizationSchema, { keyPackageRefs: [bytes32(1)] }))).toEqual([])
})

const view = { ...bobsPhone, reference: bytes32(0xb1), notBefore: lifetime.notBefore, notAfter: lifetime.notAfter }
const claimed = { keyPackageRef: bytes32(0xb1), deviceId: deviceB }
const isBobs: Authorized["isAsked"] = ({ userId }) => userId === idOf("prn", bob)
const early = await signedIdentity({ userId: bob, deviceId: id(0x68), notBefore: now + 300n })
const tooEarly = await signedIdentity({ userId: bob, deviceId: id(0x68), notBefore: now + 301n })
const ended = await signedIdentity({ userId: bob, deviceId: id(0x68), notBefore: now - 9n * day, notAfter: now })

test("a claimed key package of a requested device is accepted up to five minutes before its credential is valid", () => {
  const check = (shown: typeof view) =>
    checkKeyPackage(verification, create(ClaimedKeyPackageSchema, claimed), shown, isBobs, Number(now))
  expect(check(view)).toEqual({ credentialHash: hashOf(bobsPhone), keyPackageRef: view.reference })
  check({ ...view, ...early })
})

test.each<[string, object, object, Authorized["isAsked"], string]>([
  ["with another reference", { keyPackageRef: bytes32(0xb2) }, {}, isBobs, "not requested"],
  ["of another device than is claimed", { deviceId: deviceC }, {}, isBobs, "not requested"],
  ["of a user who was not requested", {}, {}, () => false, "not requested"],
  ["of another leaf key", {}, { signatureKey: own.signatureKey }, isBobs, "CRED_LEAF_KEY_MISMATCH"],
  ["whose credential becomes valid later", {}, tooEarly, isBobs, "CRED_NOT_YET_VALID"],
  ["whose credential has expired", {}, ended, isBobs, "CRED_EXPIRED"],
  ["whose credential does not decode", {}, { credential: bytes32(1) }, isBobs, "CRED_MALFORMED"],
])("a key package %s is refused", (_, claim, shown, isAsked, message) => {
  const of = create(ClaimedKeyPackageSchema, { ...claimed, ...claim })
  const check = () => checkKeyPackage(verification, of, { ...view, ...shown }, isAsked, Number(now))
  expect(check).toThrow(message)
})

const subjectOf = (one: typeof own) => ({ credentialHash: hashOf(one) })
const both = { op: MembershipOp.REMOVE, added: [], removed: [subjectOf(bobsPhone), subjectOf(bobsTablet)] }
const one = { ...both, removed: [subjectOf(bobsPhone)] }

async function change(
  does: Authorized["does"],
  proof: object,
  removed: string[],
  subjects: readonly (typeof newcomer)[],
  isAsked: Authorized["isAsked"] = isBobs,
) {
  const asked = does === "reset" ? { ...reset, ...proof } : proof
  const answer = { ...authorized(does, await proofOf(asked), removed), isAsked }
  const verified = verifyAuthorization(verification, group, answer)
  return checkAuthorizedChange(group, answer, verified, subjects)
}

test("a change that matches the request and its proof returns the leaves to remove", async () => {
  expect(await change("add", {}, [], [newcomer])).toEqual([])
  expect(await change("reset", {}, [], [newcomer])).toEqual([])
  expect(await change("remove", both, [deviceB, deviceC], [])).toEqual([1, 2])
  // A directive removes a part of the devices that it covers.
  expect(await change("directive", one, [deviceB], [])).toEqual([1])
})

const nobody: Authorized["isAsked"] = () => false
const everybody: Authorized["isAsked"] = () => true

test.each<[string, Parameters<typeof change>, string]>([
  ["a removal of a device that is not in", ["remove", both, [idOf("dev", id(0x6f))], []], "not requested"],
  ["a removal of a device that was not requested", ["directive", one, [deviceB], [], nobody], "not requested"],
  ["a removal of the own device", ["directive", one, [deviceA], [], everybody], "cannot remove itself"],
  ["an empty addition", ["add", {}, [], []], "changes nothing"],
  ["an empty directive", ["directive", one, [], []], "changes nothing"],
  ["an addition that removes", ["add", {}, [deviceB], [newcomer]], "were to be added"],
  ["a reset that removes", ["reset", {}, [deviceB], [newcomer]], "were to be added"],
  ["a removal that leaves a requested device", ["remove", one, [deviceB], []], "is still a member"],
  ["a removal that adds", ["remove", both, [deviceB, deviceC], [newcomer]], "is still a member"],
  ["an empty removal of a requested user", ["remove", both, [], []], "is still a member"],
  [
    "a newcomer that the proof does not name",
    ["add", {}, [], [{ ...newcomer, keyPackageRef: bytes32(2) }]],
    "GHOST_MEMBER",
  ],
  ["a directive that removes another than its proof", ["directive", one, [deviceC], []], "PROOF_SUBJECTS_MISMATCH"],
  [
    "an addition for another committer",
    ["add", { requester: hashOf(bobsPhone) }, [], [newcomer]],
    "PROOF_WRONG_COMMITTER",
  ],
])("%s is refused", async (_, faults, message) => {
  await expect(change(...faults)).rejects.toThrow(message)
})

test("a removal may leave the devices of other users", async () => {
  const none = { ...both, removed: [subjectOf(bobsPhone)] }
  const onlyPhone: Authorized["isAsked"] = ({ deviceId }) => deviceId === deviceB
  expect(await change("remove", none, [deviceB], [], onlyPhone)).toEqual([1])
})
