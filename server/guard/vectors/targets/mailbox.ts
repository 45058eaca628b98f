import type { Requirement } from "@signet/kernel/authz/requirement"
import { Refused } from "@signet/kernel/errors"
import { createMailbox } from "../../mailbox/mailbox.ts"
import { createMemoryReplay } from "../../mailbox/replay.ts"
import { type Situation, situations } from "../situations.ts"
import { actors, clock, poster } from "../world.ts"
import { jsonOf, type Target } from "./target.ts"

const mailbox = "svc-notes/inbox"

/**
 * Here the credential is a context token in an envelope of a permitted service. It must get the same decisions as an
 * access token.
 */
export const mailboxTarget: Target = (world) => {
  const replay = createMemoryReplay({ clock })
  const { contextKeys, access } = actors
  const receive = createMailbox(
    {
      ...world,
      mailbox,
      contextKeys,
      clock,
      replay,
      issuer: access.issuer,
      read: (message) => JSON.parse(new TextDecoder().decode(message)),
    },
    ({ auth }) => auth?.principal.id ?? null,
  )
  return async ({ contextToken, scopes, request }) => {
    const message = new TextEncoder().encode(JSON.stringify(jsonOf(request)))
    const { sender } = await poster
    try {
      return { allow: true, caller: await receive(await sender.seal({ mailbox, contextToken, scopes, message })) }
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      const { reason, status, message: told, metadata } = error
      return { allow: false, reason, status, message: told, metadata }
    }
  }
}

/**
 * True if a mailbox must give the same decision. Exceptions: a context token may live for a day
 * (test/attack/mailbox.test.ts checks that two days are too long), and only a system's mailbox accepts authority at the
 * time of sending.
 */
export function isOfMailboxes(requirement: Requirement, situation: Situation): boolean {
  return situation !== situations["a life of a day"] && !JSON.stringify(requirement).includes('"ALLOW"')
}
