import { expect, test } from "vitest"
import type { Session, SessionState } from "../session.ts"
import { messagingSession } from "./signed-in.ts"

const appId = "app_01kdvdna00edmtevk5ehj6axhg"
const person = (principalId: string, tenantId?: string): SessionState => ({
  is: "signedIn",
  user: {
    ...{ sessionId: "ses_1", identityId: "idn_1", principalId },
    ...{ primaryEmail: undefined, tenantId, contextId: undefined },
  },
})

function sessionOf(first: SessionState) {
  let current = first
  const asked: string[] = []
  const session: Pick<Session, "current" | "ready" | "accessToken" | "renewedToken"> = {
    get current() {
      return current
    },
    ready: Promise.resolve(),
    accessToken: async (audience = "auth") => `${asked.push(audience)} ${audience}`,
    renewedToken: async (audience = "auth") => `${asked.push(audience)} ${audience} anew`,
  }
  return {
    session,
    become(next: SessionState) {
      current = next
    },
  }
}

test("a messenger gets the signed-in user's tokens for the messaging service", async () => {
  const { session } = sessionOf(person("prn_ann"))
  const ann = await messagingSession(session, { appId, audience: "messages" })
  expect(ann).toMatchObject({ appId, userId: "prn_ann", tenantId: undefined })
  expect([await ann.accessToken(), await ann.renewToken()]).toEqual(["1 messages", "2 messages anew"])
})

test("without a signed-in user there are no tokens", async () => {
  const { session } = sessionOf({ is: "loggedOut", reason: "NOT_SIGNED_IN" })
  await expect(messagingSession(session, { appId })).rejects.toMatchObject({ reason: "NOT_SIGNED_IN" })
})

test.each<[string, SessionState]>([
  ["another person signed in", person("prn_ben")],
  ["the same person signed in to another tenant", person("prn_ann", "ten_2")],
  ["nobody signed in", { is: "loggedOut", reason: "LOGGED_OUT" }],
])("a messenger gets no token after a change: %s", async (_, next) => {
  const { session, become } = sessionOf(person("prn_ann"))
  const ann = await messagingSession(session, { appId })
  become(next)
  await expect(ann.accessToken()).rejects.toMatchObject({ reason: "WRONG_USER" })
  await expect(ann.renewToken()).rejects.toMatchObject({ reason: "WRONG_USER" })
})
