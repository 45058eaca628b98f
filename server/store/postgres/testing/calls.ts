// Parts of calls that count and append an event.
import { randomBytes } from "node:crypto"
import type { AuditEvent } from "@signet/kernel/audit/event"
import type { Ask } from "@signet/kernel/limits/ports"
import { openPostgres } from "../open.ts"
import type { Database } from "../sql.ts"
import { app, freshId } from "./people.ts"

export const nowMs = 1_700_000_000_000
export const nothing = { asks: [], locks: [], nowMs }
export const freshAsk = (limit = 5): Ask => ({ key: randomBytes(32), window: { limit, seconds: 60 } })

/** An event without personal data, which needs no key. */
export const plainEvent = (change: Partial<AuditEvent> = {}): AuditEvent => ({
  id: freshId("aud"),
  occurredAtMs: nowMs,
  kind: "token.issued",
  outcome: "SUCCESS",
  reason: null,
  appId: app.id,
  tenantId: null,
  contextId: null,
  actorPrincipalId: null,
  subjectPrincipalId: null,
  subjectIdentityId: null,
  sessionId: null,
  target: { type: "token", id: "t" },
  request: { id: "r", route: "R/M", ipTruncated: null },
  ...change,
})

/** Opens the database three times, as three processes do, while `work` runs. */
export async function inThreeProcesses(
  databaseUrl: string | undefined,
  isolation: string,
  work: (databases: readonly [Database, Database, Database]) => Promise<void>,
): Promise<void> {
  const url = new URL(databaseUrl ?? "")
  url.searchParams.set("options", `-c default_transaction_isolation=${isolation.replace(" ", "\\ ")}`)
  const processes = [openPostgres(String(url)), openPostgres(String(url)), openPostgres(String(url))] as const
  try {
    await work([processes[0].db, processes[1].db, processes[2].db])
  } finally {
    for (const each of processes) await each.close()
  }
}
