import type { DeviceId, SessionId } from "@signet/kernel/ids"
import { hex } from "@signet/kernel/messaging/bytes"
import type { Devices, ProofNonces } from "@signet/kernel/messaging/ports"
import type { MessagingDevice, Place, SignedDeviceList } from "@signet/kernel/messaging/records"

/** The store of devices, in memory: every method at once, as the port asks for. */
export function modelDevices(bind: (sessionId: SessionId, deviceId: DeviceId) => void): Devices {
  const devices = new Map<DeviceId, MessagingDevice>()
  const byKey = new Map<string, DeviceId>()
  const lists = new Map<string, SignedDeviceList[]>()
  const due = new Map<DeviceId, MessagingDevice>()
  const nameOf = (userId: string, { appId, tenantId }: Place) => [userId, appId, tenantId].join(" ")
  const isAt = (device: MessagingDevice, { appId, tenantId }: Place) =>
    device.appId === appId && device.tenantId === tenantId
  return {
    find: async (id) => devices.get(id),
    async findByKey(leafKey) {
      const id = byKey.get(hex(leafKey))
      return id && devices.get(id)
    },
    async ofUser(userId, place) {
      const own = [...devices.values()].filter((device) => device.userId === userId && isAt(device, place))
      return { devices: own.toReversed(), newest: lists.get(nameOf(userId, place))?.at(-1) }
    },
    activeOf: async (userIds, place) =>
      [...devices.values()].filter(
        (device) => userIds.includes(device.userId) && device.status === "ACTIVE" && isAt(device, place),
      ),
    lists: async (userId, place, afterVersion, limit) =>
      (lists.get(nameOf(userId, place)) ?? []).filter(({ version }) => version > afterVersion).slice(0, limit),
    async change({ userId, place, devices: changed, list, bind: binding }) {
      const name = nameOf(userId, place)
      const before = lists.get(name) ?? []
      const isTaken = changed.some(({ id, leafKey }) => (byKey.get(hex(leafKey)) ?? id) !== id)
      if (BigInt(before.length) + 1n !== list.version || isTaken) return "lost"
      lists.set(name, [...before, list])
      for (const device of changed) {
        devices.set(device.id, device)
        byKey.set(hex(device.leafKey), device.id)
        if (device.status === "REVOKED") due.set(device.id, device)
      }
      if (binding !== null) bind(binding.sessionId, binding.deviceId)
      return "done"
    },
    async bindSession(sessionId, deviceId) {
      bind(sessionId, deviceId)
    },
    dueEffects: async (limit) => [...due.values()].slice(0, limit).map(({ id, userId }) => ({ deviceId: id, userId })),
    async effectsDone(deviceId) {
      due.delete(deviceId)
    },
  }
}

export function modelProofNonces(): ProofNonces {
  const used = new Set<string>()
  return {
    async use(deviceId, nonce) {
      const name = `${deviceId} ${hex(nonce)}`
      if (used.has(name)) return false
      used.add(name)
      return true
    },
  }
}
