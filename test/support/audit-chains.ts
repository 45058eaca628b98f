// Audit chains in a separate store with three checkpoints, for tests that attack them.
import type { CheckpointClaims } from "@signet/kernel/audit/checkpoint"
import type { AuditEvent } from "@signet/kernel/audit/event"
import type { Flaw } from "@signet/kernel/audit/flaw"
import { CompiledQuery } from "kysely"
import { expect } from "vitest"
import { linkPending } from "../../server/store/postgres/audit/audit-chain.ts"
import { makeCheckpoint } from "../../server/store/postgres/audit/audit-checkpoints.ts"
import { verifyAuditIn } from "../../server/store/postgres/audit/audit-verify.ts"
import type { Database } from "../../server/store/postgres/sql.ts"
import { freshId } from "../../server/store/postgres/testing/people.ts"
import { testAuditLogDeps, testSeals } from "./audit-log-deps.ts"
import { openTestStore, type StoreKind, type TestStore } from "./postgres.ts"

const claimsOf = (jws: string): CheckpointClaims | undefined => {
  try {
    return JSON.parse(jws)
  } catch {
    return undefined
  }
}

/** A checkpoint's payload without a signature, which is the key ring's task. */
const signed = (claims: CheckpointClaims): string => JSON.stringify(claims)

export const run = (db: Database, text: string, values: readonly unknown[] = []) =>
  db.executeQuery<Record<string, never>>(CompiledQuery.raw(text, [...values]))

/** A test clock and operations on the store. Call `open` first, which adds three rounds of five events. */
export function auditChains() {
  let opened: TestStore
  const clock = { nowMs: 1_000 }
  /** Checkpoints stored outside the database, by number. */
  const kept = new Map<bigint, string>()
  const [appId, tenantId] = [freshId("app"), freshId("ten")]
  const event = (change: Partial<AuditEvent> = {}): AuditEvent => ({
    id: freshId("aud"),
    occurredAtMs: clock.nowMs,
    kind: "grant.created",
    outcome: "SUCCESS",
    reason: null,
    appId,
    tenantId,
    contextId: null,
    actorPrincipalId: null,
    subjectPrincipalId: null,
    subjectIdentityId: null,
    sessionId: null,
    target: { type: "grant", id: "g" },
    request: { id: "r", route: "R/M", ipTruncated: "192.0.2.0/24" },
    ...change,
  })
  const append = (...events: readonly AuditEvent[]) =>
    opened.store.transaction(async (tx) => {
      for (const one of events) await tx.audit.append(one)
    })
  const link = (db: Database = opened.db) => linkPending(db, testSeals, () => clock.nowMs)
  const checkpoint = () =>
    makeCheckpoint(opened.db, {
      writing: testAuditLogDeps(),
      iss: "https://auth.example",
      nowMs: clock.nowMs,
      everyMs: 1_000,
      sign: signed,
      event: ({ number, jws }) =>
        event({
          kind: "audit.checkpoint",
          appId: null,
          tenantId: null,
          target: { type: "audit_checkpoint", id: `${number}:${Buffer.from(testSeals.digest(jws)).toString("hex")}` },
        }),
    })
  const verify = (db: Database, keptNow: ReadonlyMap<bigint, string> = new Map()) =>
    verifyAuditIn(db, { seals: testSeals, nowMs: clock.nowMs, patienceMs: 10_000, open: claimsOf, kept: keptNow })

  /** The result of verification after the attack, which is rolled back. */
  async function attacked(attack: (db: Database) => Promise<unknown>, keptNow?: ReadonlyMap<bigint, string>) {
    let found: readonly Flaw[] = []
    const undone = opened.db.transaction().execute(async (trx) => {
      await attack(trx)
      found = (await verify(trx, keptNow)).flaws
      throw new Error("undo")
    })
    await expect(undone).rejects.toThrow("undo")
    return found
  }

  async function open(kind: StoreKind): Promise<TestStore> {
    opened = await openTestStore(kind)
    for (let round = 0; round < 3; round++) {
      await append(...Array.from({ length: 4 }, () => event()), event({ tenantId: null }))
      await link()
      clock.nowMs += 1_000
      const made = await checkpoint()
      if (made !== undefined) kept.set(made.number, made.jws)
    }
    await append(event())
    await link()
    return opened
  }
  return { open, clock, kept, appId, tenantId, event, append, link, checkpoint, verify, attacked }
}
