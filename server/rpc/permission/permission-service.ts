import type { ServiceImpl } from "@connectrpc/connect"
import { maxSnapshotLength, snapshotClaims } from "@signet/kernel/authz/snapshot"
import { permVerOf } from "@signet/kernel/authz/versions"
import { Refused } from "@signet/kernel/errors"
import { type PrincipalId, parseId } from "@signet/kernel/ids"
import type { GetPermissionSnapshotRequest, PermissionService } from "@signet/proto/auth/v1/permission_service"
import { type AdminTransaction, administer, unresolved } from "../admin/administer.ts"
import { foundPlace } from "../admin/found.ts"
import type { Deps } from "../deps.ts"
import { activeMembership } from "../place.ts"

/** A version's permissions never change, and only the requesting service may cache them. */
const caching = "private, max-age=31536000, immutable"

export function permissionService(deps: Deps): ServiceImpl<typeof PermissionService> {
  return {
    getPermissionSnapshot: (request, context) =>
      administer(deps, context, "read", async (admin) => {
        const jws = await signedSnapshot(deps, admin, request)
        context.responseHeader.set("cache-control", caching)
        return { jws }
      }),
  }
}

async function signedSnapshot(
  deps: Deps,
  admin: AdminTransaction,
  request: GetPermissionSnapshotRequest,
): Promise<string> {
  const { tx, nowMs } = admin
  const { place } = await foundPlace(admin, request)
  const principalId = await memberAt(admin, place, request.principalId)
  const { versions, snapshot } = await tx.authorities.snapshot({ ...place, principalId, nowMs })
  const current = permVerOf(versions)
  if (Number(request.permVer) > current) throw new Refused("INVALID_FIELD", { metadata: { field: "perm_ver" } })
  if (Number(request.permVer) < current) throw new Refused("SNAPSHOT_OUTDATED")
  const key = { ...place, principalId }
  const nowSeconds = Math.floor(nowMs / 1_000)
  const jws = deps.keys.sign("perm+jwt", {
    ...snapshotClaims({ issuer: deps.issuer, key, versions, snapshot, nowSeconds }),
  })
  if (jws.length > maxSnapshotLength) throw new Refused("SNAPSHOT_TOO_LARGE")
  return jws
}

/**
 * @throws Refused RESOURCE_UNRESOLVED, alike for an unknown principal, an inactive one, and one without an active
 * membership.
 */
async function memberAt(
  { tx }: AdminTransaction,
  place: Parameters<typeof activeMembership>[2],
  idText: string,
): Promise<PrincipalId> {
  const id = parseId("prn", idText)
  const principal = id && (await tx.identities.findPrincipal(id))
  if (principal?.status !== "ACTIVE") throw unresolved("PRINCIPAL_INACTIVE")
  if ((await activeMembership(tx, principal.id, place)) === undefined) throw unresolved("MEMBERSHIP_INACTIVE")
  return principal.id
}
