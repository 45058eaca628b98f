// Three ports of an app graph: a digest reads notes, sums them up and mails them. Each port decides for itself, so none
// of them trusts the port that calls it, and a digest that may not be mailed is not even made.
import type { Guard, Requirement } from "@signet/guard"
import { type GraphContext, guardPort, type Port } from "@signet/guard/port"

const inTenant: Requirement = { is: "tenant", from: "GRAPH", field: "tenant_id" }
const readsNotes: Requirement = { is: "allOf", of: [{ is: "scope", scope: "notes.read" }, inTenant] }
const sendsMail: Requirement = {
  is: "allOf",
  of: [
    { is: "scope", scope: "mail.send" },
    // People, or the digest service on their behalf.
    {
      is: "anyOf",
      of: [
        { is: "kinds", of: ["USER"] },
        { is: "delegated", actors: ["svc-digest"] },
      ],
    },
  ],
}

export interface World {
  readonly guard: Guard
  readonly findNotes: (tenantId: string) => Promise<readonly string[]>
  readonly send: (principalId: string, text: string) => Promise<void>
}

export interface Graph {
  readonly notes: Port<null, readonly string[]>
  readonly mail: Port<{ readonly text: string }, void>
  readonly digest: Port<{ readonly most: number }, number>
}

export function createGraph({ guard, findNotes, send }: World): Graph {
  const notes = guardPort({ guard, requirement: readsNotes }, (_: null, _caller, { values }) =>
    findNotes(values.get("tenant_id") ?? ""),
  )
  const mail = guardPort({ guard, requirement: sendsMail }, async ({ text }: { readonly text: string }, caller) => {
    if (caller !== undefined) await send(caller.principal.id, text)
  })
  // What the digest needs is what the ports that it calls need.
  const digest = guardPort(
    { guard, requirement: { is: "allOf", of: [readsNotes, sendsMail] } },
    async ({ most }: { readonly most: number }, _caller, context: GraphContext) => {
      const found = await notes(context, null)
      const told = found.slice(0, most)
      await mail(context, { text: told.join("\n") })
      return told.length
    },
  )
  return { notes, mail, digest }
}
