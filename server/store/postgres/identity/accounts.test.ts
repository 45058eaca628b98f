import type { Store } from "@signet/kernel/ports"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { freshId, newPerson, putApp, putPerson } from "../testing/people.ts"

describeOnEachStore("accounts and identities, administered", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
    await putApp(store)
  })
  afterAll(() => opened.close())

  test("an account key is inserted once, whatever its identity and status", async () => {
    const [ada, bob] = [await putPerson(store), await putPerson(store)]
    await store.transaction(async (tx) => {
      const account = {
        ...newPerson().account,
        identityId: ada.identity.id,
        isRelayEmail: true,
        isContactable: false,
        refreshTokenSealed: Uint8Array.of(5),
      }
      expect(await tx.accounts.insertAccount(account)).toBe(true)
      expect(await tx.accounts.lockAccount(account.id)).toStrictEqual(account)
      expect(await tx.accounts.insertAccount({ ...account, id: freshId("pac"), identityId: bob.identity.id })).toBe(
        false,
      )
      await tx.accounts.updateAccount({ ...account, status: "UNLINKED" })
      expect(await tx.accounts.insertAccount({ ...account, id: freshId("pac") })).toBe(false)
      const ofTeam = { ...account, id: freshId("pac"), providerTenant: "team" }
      expect(await tx.accounts.insertAccount(ofTeam)).toBe(true)
    })
  })

  test("an account moves to another identity only when it is unlinked", async () => {
    const [ada, bob] = [await putPerson(store), await putPerson(store)]
    const change = {
      email: "new@example.com",
      isRelayEmail: true,
      isContactable: false,
      refreshTokenSealed: Uint8Array.of(5),
    }
    await store.transaction(async (tx) => {
      const changed = { ...ada.account, ...change }
      const update = (status: typeof changed.status) =>
        tx.accounts.updateAccount({ ...changed, status, identityId: bob.identity.id, subject: "other", createdAtMs: 9 })
      for (const status of ["BLOCKED", "UNLINKED"] as const) {
        await update(status)
        expect(await tx.accounts.lockAccount(ada.account.id)).toStrictEqual({ ...changed, status })
      }
      await update("LINKED")
      const linked = await tx.accounts.lockAccount(ada.account.id)
      expect(linked).toStrictEqual({ ...changed, status: "LINKED", identityId: bob.identity.id })
    })
  })

  test("due deletions are listed oldest first", async () => {
    const [ada, bob, eve] = [await putPerson(store), await putPerson(store), await putPerson(store)]
    await store.transaction(async (tx) => {
      const leave = (person: typeof ada, deletesAtMs: number) =>
        tx.accounts.updateIdentity({ ...person.identity, status: "DELETION_PENDING", deletesAtMs, updatedAtMs: 8 })
      await leave(ada, 6_000)
      await leave(bob, 5_000)
      await leave(eve, 4_000)
      await tx.accounts.updateIdentity({ ...eve.identity, primaryEmail: null })
      const { identity } = ada
      const pending = { ...identity, status: "DELETION_PENDING", deletesAtMs: 6_000, updatedAtMs: 8 }
      expect(await tx.accounts.lockIdentity(identity.id)).toStrictEqual(pending)
      expect(await tx.accounts.lockIdentity(eve.identity.id)).toStrictEqual({ ...eve.identity, primaryEmail: null })
      expect(await tx.accounts.listDueDeletions(5_999, 9)).toEqual([bob.identity.id])
      expect(await tx.accounts.listDueDeletions(6_000, 9)).toEqual([bob.identity.id, identity.id])
      expect(await tx.accounts.listDueDeletions(6_000, 1)).toEqual([bob.identity.id])
    })
  })
})
