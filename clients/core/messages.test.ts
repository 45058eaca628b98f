import { expect, test } from "vitest"
import { encodeMessage, type Message, parseMessage } from "./messages.ts"

const token = { token: "t", generation: 1, sinceMs: 2, goodUntilMs: 3 }

test.each<[Message]>([
  [{ is: "ask", sessionId: "ses_1" }],
  [{ is: "tokens", sessionId: "ses_1", tokens: new Map([["auth", token]]) }],
  [{ is: "signedIn" }],
  [{ is: "ended", sessionId: "ses_1", reason: "LOGGED_OUT" }],
])("%j is parsed as it was posted", (message) => {
  expect(parseMessage(encodeMessage(message))).toEqual(message)
})

const posted = (tokens: unknown) => ({ version: 1, is: "tokens", sessionId: "ses_1", tokens })
const with_ = (change: object) => posted([["auth", { ...token, ...change }]])

test.each<[string, unknown]>([
  ["of another version", { version: 2, is: "signedIn" }],
  ["of no kind", { version: 1, sessionId: "ses_1" }],
  ["of an unknown kind, with tokens", { ...posted([]), is: "others" }],
  ["without a session", { version: 1, is: "ask" }],
  ["of an end without a reason", { version: 1, is: "ended", sessionId: "ses_1" }],
  ["of tokens that are not a list", posted("all")],
  ["of an invalid entry", posted(["auth"])],
  ["of a token without an audience", posted([["", token]])],
  ["without a token", with_({ token: "" })],
  ["of a token without a generation", with_({ generation: "1" })],
  ["of a token without its time of receipt", with_({ sinceMs: undefined })],
  ["of a token without an expiry", with_({ goodUntilMs: null })],
  ["of a token without a finite expiry", with_({ goodUntilMs: Number.POSITIVE_INFINITY })],
  [
    "of a valid token and an invalid one",
    posted([
      ["auth", token],
      ["svc", {}],
    ]),
  ],
  ["that is undefined", undefined],
])("a message %s is ignored", (_, message) => {
  expect(parseMessage(message)).toBeUndefined()
})
