import type { ServiceImpl } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { type IdKinds, parseId } from "@signet/kernel/ids"
import { maxCount } from "@signet/kernel/messaging/limits"
import type { KeyPackageService } from "@signet/proto/messaging/v1/key_package_service"
import { deviceOf } from "../../../serving/call/calling-device.ts"
import { seen } from "../conversation/seen.ts"
import { counted } from "../counted.ts"
import type { MessagingDeps } from "../deps.ts"
import { claimShape, inventoryShape } from "../device/device-shape.ts"
import { limitExceeded } from "../refusing.ts"
import { claimFor } from "./claiming.ts"
import { ensureDistinct, openUploadedPackage } from "./uploaded-package.ts"

export function keyPackageService(deps: MessagingDeps): ServiceImpl<typeof KeyPackageService> {
  const { keyPackages } = deps.store
  return {
    async uploadKeyPackages(request, context) {
      const device = deviceOf(context)
      await counted(deps, context, "messaging_upload", { device: device.id })
      const nowMs = deps.clock.nowMs()
      const packages = request.packages.map(({ keyPackage: bytes, isLastResort }) =>
        openUploadedPackage(deps, device, { bytes, isLastResort }, nowMs),
      )
      ensureDistinct(packages)
      const outcome = await keyPackages.upload(packages, nowMs)
      if (outcome.is === "duplicate") throw new Refused("KEY_PACKAGE_DUPLICATE")
      if (outcome.is === "full") throw limitExceeded("key_packages_per_device", maxCount.keyPackages)
      return { keyPackageRefs: packages.map(({ ref }) => ref), inventory: inventoryShape(outcome.inventory) }
    },

    async claimKeyPackages(request, context) {
      const conversation = await seen(deps, context, request.conversationId)
      const { claim, ticket, inventory } = await claimFor(deps, context, {
        id: idIn("clm", request.claimId),
        conversation,
        targets: {
          userIds: request.userIds.map((id) => idIn("prn", id)),
          deviceIds: request.deviceIds.map((id) => idIn("dev", id)),
        },
      })
      return { claim: claimShape(claim, ticket), inventory: inventoryShape(inventory) }
    },

    async getInventory(_, context) {
      const inventory = await keyPackages.inventory(deviceOf(context).id, deps.clock.nowMs())
      return { inventory: inventoryShape(inventory) }
    },

    async retireKeyPackages(request, context) {
      const { id } = deviceOf(context)
      await keyPackages.retire(id, request.keyPackageRefs.length === 0 ? "all" : request.keyPackageRefs)
      return { inventory: inventoryShape(await keyPackages.inventory(id, deps.clock.nowMs())) }
    },
  }
}

/** Parses a validated id. @throws Refused RESOURCE_UNRESOLVED */
function idIn<K extends keyof IdKinds>(kind: K, text: string): IdKinds[K] {
  const id = parseId(kind, text)
  if (id === undefined) throw new Refused("RESOURCE_UNRESOLVED")
  return id
}
