import { expect, test } from "vitest"
import { encodeRecord, parseNote, parseRecord } from "./record.ts"

const user = {
  ...{ sessionId: "ses_1", identityId: "idn_1", principalId: "prn_1" },
  ...{ primaryEmail: "ada@example.com", tenantId: "ten_1", contextId: "ctx_1" },
}
const record = { user, refreshToken: "r", retryKey: "k", generation: 1, tokensGoodUntilMs: 2 }
const written: Record<string, unknown> = JSON.parse(new TextDecoder().decode(encodeRecord(record)))
const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))

test("a record is parsed as it was written, with and without optional fields", () => {
  expect(parseRecord(encodeRecord(record))).toEqual(record)
  const none = { primaryEmail: undefined, tenantId: undefined, contextId: undefined }
  const least = { ...record, user: { ...user, ...none }, refreshToken: undefined }
  expect(parseRecord(encodeRecord(least))).toEqual(least)
})

test.each<[string, Record<string, unknown>]>([
  ["of another format", { format: 2 }],
  ["without a user", { user: undefined }],
  ["without a session", { user: { ...user, sessionId: "" } }],
  ["without an identity", { user: { ...user, identityId: undefined } }],
  ["without a principal", { user: { ...user, principalId: 1 } }],
  ["with an address that is not a text", { user: { ...user, primaryEmail: 1 } }],
  ["with a tenant that is not a text", { user: { ...user, tenantId: 1 } }],
  ["with a context that is not a text", { user: { ...user, contextId: 1 } }],
  ["with a refresh token that is not a text", { refreshToken: 1 }],
  ["without a retry key", { retryKey: undefined }],
  ["without a generation", { generation: undefined }],
  ["without the expiry of its tokens", { tokensGoodUntilMs: "soon" }],
])("a record %s was not written by this version", (_, change) => {
  expect(parseRecord(bytesOf({ ...written, ...change }))).toBeUndefined()
})

test.each([[new Uint8Array([0xff])], [bytesOf(null)], [bytesOf("text")]])("invalid bytes are no record", (bytes) => {
  expect(parseRecord(bytes)).toBeUndefined()
  expect(parseNote(bytes)).toEqual({})
})

test("a note has only texts", () => {
  expect(parseNote(bytesOf({ is: "due", count: 1, none: "" }))).toEqual({ is: "due" })
})
