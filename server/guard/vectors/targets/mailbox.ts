import type { Requirement } from "@signet/kernel/authz/requirement"
import { Refused } from "@signet/kernel/errors"
import { createMailbox } from "../../mailbox.ts"
import { createMemoryReplay } from "../../mailbox-replay.ts"
import { type Situation, situations } from "../situations.ts"
import { actors, clock, poster } from "../world.ts"
import { jsonOf, type Target } from "./target.ts"

const mailbox = "svc-notes/inbox"

/**
 * A credential is a context token here, in an envelope of a service that may post. What is told of an access token is
 * told of it alike.
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
 * Whether a mailbox decides it, too. A context token may live for a day, and that two are too long is in
 * test/attack/mailbox.test.ts. Only a system's mailbox takes the authority of the time of sending.
 */
export function isOfMailboxes(requirement: Requirement, situation: Situation): boolean {
  return situation !== situations["a life of a day"] && !JSON.stringify(requirement).includes('"ALLOW"')
}
