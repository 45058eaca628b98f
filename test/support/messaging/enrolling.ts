// Registration of a test device and upload of its key packages.
import type { Device, Inventory } from "@signet/proto/messaging/v1/records"
import type { NewKeyPackage } from "../../../clients/core/messaging/mls.ts"
import { bytesOf, deviceRequest, engine, hexOf, type LeafKey, nowSeconds } from "./device-parts.ts"
import type { Own } from "./own.ts"

const day = 86_400

export interface Enrolling {
  register(key?: LeafKey): Promise<Device>
  renew(key?: LeafKey): Promise<Device>
  newKeyPackages(count: number, options?: { isLastResort?: boolean; days?: number }): Promise<NewKeyPackage[]>
  upload(count: number, options?: { isLastResort?: boolean }): Promise<Inventory | undefined>
}

export function enrolling(own: Own): Enrolling {
  const { calls, credentials, place, session } = own
  const become = (key: LeafKey, device: Device | undefined): Device => {
    if (device === undefined) throw new Error("no device in the answer")
    const { id, credential } = device
    Object.assign(own, { key, id, identity: { credential, signatureKey: key.publicKey, key: key.seed } })
    credentials.device = { id: bytesOf("dev", id), signer: key.signer }
    return device
  }
  const newKeyPackages: Enrolling["newKeyPackages"] = async (count, options = {}) => {
    const { isLastResort = false, days = isLastResort ? 90 : 30 } = options
    const notBefore = nowSeconds() - 3_600
    const life = { notBefore, notAfter: notBefore + days * day, isLastResort }
    const made: NewKeyPackage[] = []
    for (let i = 0; i < count; i++) made.push(await engine.newKeyPackage(own.identity, life))
    for (const one of made) own.packages.set(hexOf(one.reference), one)
    return made
  }
  return {
    async register(key = own.key) {
      const request = { deviceRequest: await deviceRequest(key, place, session.userId) }
      const answer = await calls.devices.registerDevice(request)
      const device = become(key, answer.device)
      if (answer.mustRefresh) credentials.token = await session.refresh()
      return device
    },
    async renew(key = own.key) {
      const request = { deviceId: own.id, deviceRequest: await deviceRequest(key, place, session.userId) }
      return become(key, (await calls.devices.renewCredential(request)).device)
    },
    newKeyPackages,
    async upload(count, { isLastResort = false } = {}) {
      const made = await newKeyPackages(count, { isLastResort })
      const packages = made.map(({ keyPackage }) => ({ keyPackage, isLastResort }))
      return (await calls.keyPackages.uploadKeyPackages({ packages })).inventory
    },
  }
}
