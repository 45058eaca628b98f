import { create } from "@bufbuild/protobuf"
import { KeyPackageService, RetireKeyPackagesRequestSchema } from "@signet/proto/messaging/v1/key_package_service"
import { proofHeader, proofOf } from "../../support/messaging/calls.ts"
import type { TestDevice } from "../../support/messaging/device.ts"
import { bytesOf, newLeafKey, randomBytes } from "../../support/messaging/device-parts.ts"
import * as scene from "../scene.ts"
import { refuses } from "../scene.ts"

const method = KeyPackageService.method.retireKeyPackages

/** A call that changes nothing, with a proof that the test created. */
const retire = (device: TestDevice, proof: string, refs: Uint8Array[] = []) =>
  device.calls.keyPackages.retireKeyPackages({ keyPackageRefs: refs }, { headers: { [proofHeader]: proof } })

const proves = (device: TestDevice, change: Parameters<typeof proofOf>[3] & { refs?: Uint8Array[] } = {}) => {
  const { refs = [], ...options } = change
  const message = create(RetireKeyPackagesRequestSchema, { keyPackageRefs: refs })
  const key = { id: bytesOf("dev", device.id), signer: device.key.signer }
  return proofOf(key, method, message, options)
}

export const cases = scene.cases("proofs of calls", {
  async "a proof is accepted once"({ device }) {
    const one = await device({ keyPackages: 0 })
    const proof = await proves(one)
    await retire(one, proof)
    await refuses("DEVICE_PROOF_INVALID DEVICE_PROOF_REPLAYED", retire(one, proof))
  },
  async "a call without a proof gets an error that it is required"({ device }) {
    await refuses("PROOF_OF_POSSESSION_REQUIRED", retire(await device({ keyPackages: 0 }), ""))
  },
  async "a proof is valid only for its body, method and device"({ device }) {
    const [one, other] = [await device({ keyPackages: 0 }), await device({ keyPackages: 0 })]
    const ofAnotherBody = await proves(one, { refs: [randomBytes(32)] })
    await refuses("DEVICE_PROOF_INVALID DEVICE_PROOF_WRONG_BODY", retire(one, ofAnotherBody))
    const message = create(RetireKeyPackagesRequestSchema, {})
    const key = { id: bytesOf("dev", one.id), signer: one.key.signer }
    const ofAnotherMethod = await proofOf(key, { ...method, parent: method.parent, name: "Other" }, message)
    await refuses("DEVICE_PROOF_INVALID DEVICE_PROOF_WRONG_METHOD", retire(one, ofAnotherMethod))
    await refuses("DEVICE_PROOF_INVALID DEVICE_PROOF_KEY_MISMATCH", retire(one, await proves(other)))
    const ofAnotherId = await proofOf({ ...key, id: bytesOf("dev", other.id) }, method, message)
    await refuses("DEVICE_PROOF_INVALID DEVICE_PROOF_WRONG_DEVICE", retire(one, ofAnotherId))
  },
  async "a proof's time may differ by at most a minute"({ device }) {
    const one = await device({ keyPackages: 0 })
    const late = await proves(one, { atMs: Date.now() - 70_000 })
    await refuses("DEVICE_PROOF_INVALID DEVICE_PROOF_EXPIRED", retire(one, late))
    const early = await proves(one, { atMs: Date.now() + 70_000 })
    await refuses("DEVICE_PROOF_INVALID DEVICE_PROOF_NOT_YET_VALID", retire(one, early))
    await retire(one, await proves(one, { atMs: Date.now() - 30_000 }))
  },
  async "a malformed proof is refused"({ device }) {
    const one = await device({ keyPackages: 0 })
    for (const text of ["not base64url!", "AAAA", "A".repeat(600)]) {
      await refuses("DEVICE_PROOF_INVALID DEVICE_PROOF_MALFORMED", retire(one, text))
    }
  },
  async "a refused proof consumes no nonce"({ device }) {
    const one = await device({ keyPackages: 0 })
    const nonce = randomBytes(16)
    const stranger = newLeafKey()
    const message = create(RetireKeyPackagesRequestSchema, {})
    const forged = await proofOf({ id: bytesOf("dev", one.id), signer: stranger.signer }, method, message, { nonce })
    await refuses("DEVICE_PROOF_INVALID DEVICE_PROOF_KEY_MISMATCH", retire(one, forged))
    await retire(one, await proves(one, { nonce }))
  },
  async "two devices may choose the same nonce"({ device }) {
    const nonce = randomBytes(16)
    for (const one of [await device({ keyPackages: 0 }), await device({ keyPackages: 0 })]) {
      await retire(one, await proves(one, { nonce }))
    }
  },
})
