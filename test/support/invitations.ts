// Inserts invitations into a test server's store as an administrator would create them.
import { randomBytes } from "node:crypto"
import type { Invitation } from "@signet/kernel/administration/records"
import { newId } from "@signet/kernel/ids"
import { buildOpaque } from "@signet/kernel/token/opaque"
import { openPlace } from "./places.ts"
import type { TestServer } from "./server.ts"

/** An invitation to a new tenant, valid for a week, with changes. */
export async function addInvitation(
  server: Pick<TestServer, "app" | "deps" | "secrets">,
  change: Partial<Invitation> = {},
): Promise<{ code: string; invitation: Invitation }> {
  const nowMs = server.deps.clock.nowMs()
  const id = <K extends "inv" | "ten" | "prn">(kind: K) => newId(kind, nowMs, randomBytes(10))
  const code = buildOpaque("sginv_", server.deps.random)
  const invitation: Invitation = {
    id: id("inv"),
    appId: server.app.id,
    tenantId: id("ten"),
    contextId: null,
    principalId: null,
    codeHash: server.secrets.hash("invitation", code),
    scopes: [],
    invitedBy: id("prn"),
    status: "PENDING",
    createdAtMs: nowMs,
    expiresAtMs: nowMs + 7 * 86_400_000,
    answeredAtMs: null,
    membershipId: null,
    ...change,
  }
  await openPlace(server.deps.store, invitation)
  await server.deps.store.transaction((tx) => tx.invitations.insert(invitation))
  return { code, invitation }
}
