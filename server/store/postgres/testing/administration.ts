// Records of administration with ids of their own, for tests of the store.
import { randomBytes } from "node:crypto"
import type { Context, Grant, Invitation, Permission, Role, Tenant } from "@signet/kernel/administration/records"
import type { Tx } from "@signet/kernel/ports"
import type { App, ProviderClient } from "@signet/kernel/records"
import * as samples from "@signet/kernel/testing/admin-records"
import { app, freshId, providerClient } from "./people.ts"

export const newApp = (change: Partial<App> = {}): App => ({ ...app, id: freshId("app"), ...change })

export const newClient = (change: Partial<ProviderClient> = {}): ProviderClient => ({
  ...providerClient,
  id: freshId("pcl"),
  ...change,
})

export const newTenant = (change: Partial<Tenant> = {}): Tenant => ({
  ...samples.tenant,
  id: freshId("ten"),
  ...change,
})

export const newContext = (change: Partial<Context> = {}): Context => ({
  ...samples.context,
  id: freshId("ctx"),
  ...change,
})

export const newPermission = (change: Partial<Permission> = {}): Permission => {
  const id = freshId("prm")
  return { ...samples.permission, id, key: `notes.${id}.read`, ...change }
}

export const newRole = (change: Partial<Role> = {}): Role => {
  const id = freshId("rol")
  return { ...samples.role, id, key: id, ...change }
}

export const newGrant = (change: Partial<Grant> = {}): Grant => ({ ...samples.grant, id: freshId("grt"), ...change })

export const newInvitation = (change: Partial<Invitation> = {}): Invitation => ({
  ...samples.invitation,
  id: freshId("inv"),
  codeHash: new Uint8Array(randomBytes(32)),
  ...change,
})

/** A new app, so that a list contains nothing else. */
export async function putOwnApp(tx: Tx): Promise<App> {
  const own = newApp()
  await tx.administration.insertApp(own)
  return own
}

/** A list's pages of two records, one after the other. */
export async function pagesOf<T extends { createdAtMs: number; id: string }>(
  list: (page: { size: number; before: T | null }) => Promise<readonly T[]>,
): Promise<T[]> {
  const all: T[] = []
  for (let page = await list({ size: 2, before: null }); page.length > 0; ) {
    all.push(...page)
    page = await list({ size: 2, before: page.at(-1) ?? null })
  }
  return all
}
