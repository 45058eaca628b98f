// Own changes while the stored issuer keys are outdated: the set expired while the program ran, or the service has rotated
// its key since.
import { hash } from "@signet/canonical/hash"
import { issueMembershipProof } from "@signet/canonical/membership-proof"
import { MembershipOp } from "@signet/proto/credential/v1/policy_proof"
import { ConversationKind } from "@signet/proto/messaging/v1/records"
import { expect, test } from "vitest"
import * as world from "../../../../proto/canonical/testing/world.ts"
import { idOf } from "../ids.ts"
import { membersOf, stateTag } from "../mls.ts"
import { expiredKeySet, nextKeySet } from "../testing/key-sets.ts"
import { refusedAs, type Scripted, scripted } from "../testing/scripted.ts"
import { signedEngine, signedIdentity, signedLifetime } from "../testing/signed-group.ts"
import { createConversation } from "./creation.ts"
import { ask } from "./intents.ts"

const newKey = world.signerOf(0x31)
const bob = idOf("prn", world.bob)
const bobsDevice = { userId: world.bob, deviceId: world.id(0x68) }
const bobsIdentity = await signedIdentity(bobsDevice)
const { keyPackage, reference } = await signedEngine.newKeyPackage(bobsIdentity, signedLifetime)
const hashOf = (credential: Uint8Array) => hash("device-credential", credential)

/** A service that authorizes Bob's removal, or a new group with Bob, and refuses every commit. */
async function outdated(keySets: readonly Uint8Array[], signer: typeof newKey) {
  let sent = 0
  const own = () => hashOf(opened.conversation.device.identity().credential)
  const opened: Scripted = await scripted({
    keySets,
    service: {
      async authorizeMembership() {
        const { group } = opened.local
        const removed = [{ credentialHash: hashOf(membersOf(group)[1]?.credential ?? expect.fail()) }]
        const base = { baseEpoch: group.epoch, baseStateTag: stateTag(group), requester: own() }
        const fields = { ...world.proofFields, ...base, op: MembershipOp.REMOVE, added: [], removed }
        const proof = await issueMembershipProof(fields, signer)
        return { authorization: { proof, removedDeviceIds: [idOf("dev", bobsDevice.deviceId)] } }
      },
      async createConversation() {
        const { baseStateTag: _, ...bare } = world.proofFields
        const added = [{ credentialHash: hashOf(bobsIdentity.credential), keyPackageRef: reference }]
        const fields = { ...bare, baseEpoch: 0n, op: MembershipOp.CREATE, requester: own(), added }
        const proof = await issueMembershipProof(fields, signer)
        const claimed = { keyPackage, keyPackageRef: reference, deviceId: idOf("dev", bobsDevice.deviceId) }
        const claim = { keyPackages: [claimed], ticket: world.ticketBytes }
        const { appId, tenantId } = opened.conversation.owner
        const place = { appId, tenantId: tenantId ?? "" }
        const made = {
          id: opened.conversation.id,
          kind: ConversationKind.GROUP,
          mlsGroupId: world.mlsGroupId,
          ...place,
        }
        return { conversation: made, authorization: { proof, keyPackageRefs: [reference], claim } }
      },
      appendMessage() {
        sent++
        throw refusedAs("LIMIT_EXCEEDED")
      },
      listMessages: () => ({ headSeq: 4n }),
    },
  })
  return { ...opened, sent: () => sent }
}

const rows: readonly [string, readonly Uint8Array[], typeof newKey][] = [
  ["expired while the program ran", [expiredKeySet, await nextKeySet()], world.proofKey],
  ["lacks a key that the service has rotated to", [world.keySetBytes, await nextKeySet(newKey.publicKey)], newKey],
]

test.each(rows)("a change is committed although the key set %s", async (_, keySets, signer) => {
  const { conversation, write, sent, fetched } = await outdated(keySets, signer)
  await write()
  await expect(ask(conversation, { case: "remove", value: { userIds: [bob], deviceIds: [] } })).rejects.toThrow(
    "LIMIT_EXCEEDED",
  )
  expect([sent(), fetched()]).toEqual([1, 1])
})

test.each(rows)("a conversation is created although the key set %s", async (_, keySets, signer) => {
  const { conversation, sent, fetched } = await outdated(keySets, signer)
  await expect(createConversation(conversation, { userIds: [bob] })).rejects.toThrow("LIMIT_EXCEEDED")
  expect([sent(), fetched()]).toEqual([1, 1])
})
