import assert from "node:assert/strict"
import { verifyClaimTicket } from "@signet/canonical/claim-ticket"
import { newClaimId } from "../../support/messaging/committing.ts"
import type { TestDevice } from "../../support/messaging/device.ts"
import { bytesOf, hexOf, newLeafKey, nowSeconds, randomBytes, verify } from "../../support/messaging/device-parts.ts"
import { forgedKeyPackage } from "../../support/messaging/forged.ts"
import type { Room } from "../../support/messaging/room.ts"
import * as scene from "../scene.ts"
import { flipped, refuses, type Scene, there } from "../scene.ts"

const upload = (device: TestDevice, ...keyPackages: Uint8Array[]) =>
  device.calls.keyPackages.uploadKeyPackages({ packages: keyPackages.map((keyPackage) => ({ keyPackage })) })

const claim = (device: TestDevice, room: Room, userIds: string[], claimId = newClaimId()) =>
  device.calls.keyPackages.claimKeyPackages({ claimId, conversationId: room.id, userIds })

const oneOf = async (device: TestDevice, options = {}) => there((await device.newKeyPackages(1, options))[0])

/** A member of a conversation, who may claim key packages for it. */
async function claimer({ pair, group }: Scene): Promise<{ claims: TestDevice; room: Room }> {
  const [claims, other] = await pair()
  const room = await group(claims, other)
  return { claims, room }
}

export const cases = [
  ...scene.cases("key packages", {
    async "uploaded packages are counted, and named by reference"({ device }) {
      const one = await device({ keyPackages: 0 })
      const made = await one.newKeyPackages(3)
      const answer = await upload(one, ...made.map(({ keyPackage }) => keyPackage))
      assert.deepEqual(
        answer.keyPackageRefs.map(hexOf),
        made.map(({ reference }) => hexOf(reference)),
      )
      const { available, hasLastResort, isLow, lowWater } = there(answer.inventory)
      assert.deepEqual([available, hasLastResort, isLow, lowWater], [3, false, true, 10])
      const asked = await one.calls.keyPackages.getInventory({})
      assert.deepEqual(asked.inventory, answer.inventory)
    },
    async "uploading the same package again is no error, and counts once"({ device }) {
      const one = await device({ keyPackages: 0 })
      const { keyPackage } = await oneOf(one)
      await upload(one, keyPackage)
      const again = await upload(one, keyPackage)
      assert.equal(again.inventory?.available, 1)
    },
    async "an upload is accepted as a whole or not at all"({ device }) {
      const one = await device({ keyPackages: 0 })
      const [first, second] = await one.newKeyPackages(2)
      const bad = flipped(there(second).keyPackage)
      await refuses("KEY_PACKAGE_INVALID", upload(one, there(first).keyPackage, bad))
      assert.equal((await one.calls.keyPackages.getInventory({})).inventory?.available, 0)
    },
    async "a second package with the same init key is refused"({ device }) {
      const one = await device({ keyPackages: 0 })
      const { keyPackage } = await oneOf(one)
      await upload(one, keyPackage)
      const life = { notBefore: BigInt(nowSeconds() - 60), notAfter: BigInt(nowSeconds() + 20 * 86_400) }
      const twin = await forgedKeyPackage(keyPackage, one.identity, (kp) => ({
        leafNode: { ...kp.leafNode, lifetime: life },
      }))
      await refuses("KEY_PACKAGE_DUPLICATE", upload(one, twin))
    },
    async "a package belongs to the calling device, by its credential and its key"({ device }) {
      const [one, other] = [await device({ keyPackages: 0 }), await device({ keyPackages: 0 })]
      const { keyPackage } = await oneOf(other)
      const refused = await scene.refusal(upload(one, keyPackage))
      assert.equal(refused.reason, "CREDENTIAL_INVALID")
      const key = newLeafKey()
      const strange = { credential: one.identity.credential, signatureKey: key.publicKey, key: key.seed }
      const forged = await forgedKeyPackage(keyPackage, strange, (kp) => ({
        leafNode: {
          ...kp.leafNode,
          signaturePublicKey: key.publicKey,
          credential: { credentialType: "basic", identity: one.identity.credential },
        },
      }))
      await refuses("CREDENTIAL_INVALID CRED_LEAF_KEY_MISMATCH", upload(one, forged))
    },
    async "a malformed package, or one in a non-canonical encoding, is refused"({ device }) {
      const one = await device({ keyPackages: 0 })
      const { keyPackage } = await oneOf(one)
      await refuses("MLS_MALFORMED", upload(one, keyPackage.subarray(0, 100)))
      await refuses("MLS_NON_CANONICAL", upload(one, Uint8Array.of(...keyPackage, 0)))
      await refuses("KEY_PACKAGE_INVALID", upload(one, flipped(keyPackage)))
    },
    async "a package is valid now, for more than a day and for at most 35 days"({ device }) {
      const one = await device({ keyPackages: 0 })
      await refuses("KEY_PACKAGE_INVALID", upload(one, (await oneOf(one, { days: 36 })).keyPackage))
      await refuses("KEY_PACKAGE_INVALID", upload(one, (await oneOf(one, { days: 1 })).keyPackage))
      await upload(one, (await oneOf(one, { days: 35 })).keyPackage)
    },
    async "a last resort is marked in the package itself, and replaces the earlier one"({ device }) {
      const one = await device({ keyPackages: 0 })
      await one.upload(1, { isLastResort: true })
      const inventory = there(await one.upload(1, { isLastResort: true }))
      assert.deepEqual([inventory.available, inventory.hasLastResort], [0, true])
      const { keyPackage } = await oneOf(one)
      const packages = [{ keyPackage, isLastResort: true }]
      await refuses("KEY_PACKAGE_INVALID", one.calls.keyPackages.uploadKeyPackages({ packages }))
    },
    async "a claim gets one package of each active device, and each package once"(of) {
      const { claims, room } = await claimer(of)
      const target = await of.device({ keyPackages: 2 })
      const second = await of.device({ of: target, keyPackages: 1 })
      const first = there((await claim(claims, room, [target.userId])).claim)
      assert.deepEqual(new Set(first.keyPackages.map(({ deviceId }) => deviceId)), new Set([target.id, second.id]))
      const next = there((await claim(claims, room, [target.userId])).claim)
      assert.deepEqual(
        next.keyPackages.map(({ deviceId }) => deviceId),
        [target.id],
      )
      assert.deepEqual(next.deviceIdsWithout, [second.id])
      const refs = [...first.keyPackages, ...next.keyPackages].map(({ keyPackageRef }) => hexOf(keyPackageRef))
      assert.equal(new Set(refs).size, 3)
      await refuses("NO_KEY_PACKAGE", claim(claims, room, [target.userId]))
    },
    async "the same claim id gets the same packages, and other targets are refused"(of) {
      const { claims, room } = await claimer(of)
      const [target, other] = [await of.device(), await of.device()]
      const id = newClaimId()
      const first = there((await claim(claims, room, [target.userId], id)).claim)
      const again = there((await claim(claims, room, [target.userId], id)).claim)
      assert.deepEqual(again, first)
      await refuses("IDEMPOTENCY_MISMATCH", claim(claims, room, [other.userId], id))
      assert.equal((await target.calls.keyPackages.getInventory({})).inventory?.available, 2)
    },
    async "a claim's ticket is signed by the service for this device and conversation"(of) {
      const { claims, room } = await claimer(of)
      const target = await of.device()
      const made = there((await claim(claims, room, [target.userId])).claim)
      const body = verifyClaimTicket(made.ticket, {
        ...claims.place,
        issuerKeys: claims.issuerKeys,
        conversationId: bytesOf("cnv", room.id),
        requesterDeviceId: bytesOf("dev", claims.id),
        atSeconds: BigInt(nowSeconds()),
        verify,
      })
      const refs = made.keyPackages.map(({ keyPackageRef }) => hexOf(keyPackageRef))
      assert.deepEqual(
        body.packages.map(({ keyPackageRef }) => hexOf(keyPackageRef)),
        refs,
      )
    },
    async "a last resort is given out repeatedly if there is no other package"(of) {
      const { claims, room } = await claimer(of)
      const target = await of.device({ keyPackages: 1 })
      await target.upload(1, { isLastResort: true })
      const given = []
      for (let i = 0; i < 3; i++) given.push(...there((await claim(claims, room, [target.userId])).claim).keyPackages)
      assert.deepEqual(
        given.map(({ isLastResort }) => isLastResort),
        [false, true, true],
      )
      assert.equal(hexOf(there(given[1]).keyPackageRef), hexOf(there(given[2]).keyPackageRef))
    },
    async "single devices are claimed by their ids"(of) {
      const { claims, room } = await claimer(of)
      const target = await of.device()
      await of.device({ of: target })
      const { claim: made } = await claims.calls.keyPackages.claimKeyPackages({
        claimId: newClaimId(),
        conversationId: room.id,
        deviceIds: [target.id],
      })
      assert.deepEqual(
        made?.keyPackages.map(({ deviceId }) => deviceId),
        [target.id],
      )
    },
    async "a claim for another user's conversation, or of unknown users, is refused"(of) {
      const { claims, room } = await claimer(of)
      const outsider = await of.device()
      await refuses("RESOURCE_UNRESOLVED", claim(outsider, room, [claims.userId]))
      await refuses("RESOURCE_UNRESOLVED", claim(claims, room, ["prn_00000000000000000000000000"]))
      await refuses("RESOURCE_UNRESOLVED", claim(claims, { ...room, id: "cnv_00000000000000000000000000" }, []))
    },
    async "packages are retired by reference, or all at once, and an unknown reference is no error"(of) {
      const one = await of.device({ keyPackages: 0 })
      const made = await one.newKeyPackages(3)
      await upload(one, ...made.map(({ keyPackage }) => keyPackage))
      const named = [there(made[0]).reference, randomBytes(32)]
      const some = await one.calls.keyPackages.retireKeyPackages({ keyPackageRefs: named })
      assert.equal(some.inventory?.available, 2)
      assert.equal((await one.calls.keyPackages.retireKeyPackages({})).inventory?.available, 0)
    },
    async "a retired package does not become available again by an upload"({ device }) {
      const one = await device({ keyPackages: 0 })
      const { keyPackage } = await oneOf(one)
      await upload(one, keyPackage)
      await one.calls.keyPackages.retireKeyPackages({})
      const again = await scene.refusal(upload(one, keyPackage)).catch(() => undefined)
      const { inventory } = await one.calls.keyPackages.getInventory({})
      assert.equal(inventory?.available, 0, again?.reason)
    },
  }),
  ...scene.cases(
    "key packages",
    {
      async "a device has at most two hundred packages"({ device }) {
        const one = await device({ keyPackages: 0 })
        for (let i = 0; i < 4; i++) await one.upload(50)
        await refuses("LIMIT_EXCEEDED", one.upload(1))
        await one.upload(1, { isLastResort: true })
      },
    },
    { slow: true },
  ),
]
