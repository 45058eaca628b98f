import { ConversationKind } from "@signet/proto/credential/v1/envelope_aad"
import { expect, test } from "vitest"
import { buildConversationBinding, checkConversationBinding } from "./conversation-binding.ts"
import { codeOf } from "./testing/code-of.ts"
import { appId, conversationId, id, tenantId } from "./testing/world.ts"

const bound = { tenantId, appId, conversationId, kind: ConversationKind.GROUP }
const bytes = buildConversationBinding(bound)

test.each([
  ["its own conversation", {}, "ok"],
  ["another tenant", { tenantId: id(9) }, "BINDING_WRONG_TENANT"],
  ["no tenant", { tenantId: undefined }, "BINDING_WRONG_TENANT"],
  ["another app", { appId: id(9) }, "BINDING_WRONG_APP"],
  ["another conversation", { conversationId: id(9) }, "BINDING_WRONG_CONVERSATION"],
  ["a direct conversation", { kind: ConversationKind.DIRECT }, "BINDING_WRONG_KIND"],
] as const)("a group that is bound, seen from %s: %s", (_, change, code) => {
  expect(codeOf(() => checkConversationBinding(bytes, { ...bound, ...change }))).toBe(code)
})

test("a truncated binding is refused", () => {
  expect(codeOf(() => checkConversationBinding(bytes.subarray(0, -1), bound))).toBe("BINDING_MALFORMED")
})

test("a conversation without a tenant has a binding without one", () => {
  const free = { ...bound, tenantId: undefined }
  expect(codeOf(() => checkConversationBinding(buildConversationBinding(free), free))).toBe("ok")
})
