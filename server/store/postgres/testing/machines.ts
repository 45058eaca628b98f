// Service accounts and their credentials with ids of their own, for tests of the store.
import { randomBytes } from "node:crypto"
import type { Pat, ServiceAccount, ServiceSecret } from "@signet/kernel/machine/records"
import type { Store } from "@signet/kernel/ports"
import type { Membership, Principal } from "@signet/kernel/records"
import * as samples from "@signet/kernel/testing/machine-records"
import { membership, principal } from "@signet/kernel/testing/records"
import { freshId, type Person } from "./people.ts"

const freshHash = () => new Uint8Array(randomBytes(32))

export function newPat(person: Person, change: Partial<Pat> = {}): Pat {
  return {
    ...samples.pat,
    id: freshId("pat"),
    principalId: person.principal.id,
    identityId: person.identity.id,
    tokenHash: freshHash(),
    ...change,
  }
}

export interface Service {
  account: ServiceAccount
  principal: Principal
  membership: Membership
}

/** A service account that is not stored yet. */
export function newService(change: Partial<ServiceAccount> = {}): Service {
  const id = freshId("sac")
  const principalId = freshId("prn")
  const account = { ...samples.serviceAccount, id, clientId: id, principalId, ...change }
  return {
    account,
    principal: { ...principal, id: principalId, kind: "SERVICE", identityId: null },
    membership: { ...membership, id: freshId("mem"), principalId, appId: account.appId, tenantId: account.tenantId },
  }
}

export async function putService(store: Store, change: Partial<ServiceAccount> = {}): Promise<Service> {
  const service = newService(change)
  await store.transaction((tx) => tx.serviceAccounts.insert(service.account, service.principal, service.membership))
  return service
}

export function newSecret(account: ServiceAccount, change: Partial<ServiceSecret> = {}): ServiceSecret {
  return {
    ...samples.serviceSecret,
    id: freshId("scr"),
    serviceAccountId: account.id,
    secretHash: freshHash(),
    ...change,
  }
}
