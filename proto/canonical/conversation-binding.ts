import { create } from "@bufbuild/protobuf"
import {
  type ConversationBindingV1,
  ConversationBindingV1Schema,
  type ConversationKind,
} from "@signet/proto/credential/v1/envelope_aad"
import { absent, equalBytes, holds } from "./bytes.ts"
import { decode, encode } from "./canonical.ts"
import { ensure, rethrowAs } from "./errors.ts"

/** The GroupContext extension that carries the binding: private use (RFC 9420 section 17.3). */
export const conversationBindingExtension = 0xf0a1

/** The conversation of an MLS group. */
export interface ConversationIdentity {
  /** 16 bytes. Undefined requires that the binding has no tenant. */
  readonly tenantId: Uint8Array | undefined
  readonly appId: Uint8Array
  readonly conversationId: Uint8Array
  readonly kind: ConversationKind
}

/** Encodes a binding. @throws CanonicalError CPB_* */
export function buildConversationBinding(conversation: ConversationIdentity): Uint8Array {
  const { tenantId = absent, appId, conversationId, kind } = conversation
  const binding = create(ConversationBindingV1Schema, { version: 1, tenantId, appId, conversationId, kind })
  return encode(ConversationBindingV1Schema, binding)
}

/** Checks that a group is bound to this conversation. @throws CanonicalError BINDING_* */
export function checkConversationBinding(bytes: Uint8Array, expected: ConversationIdentity): ConversationBindingV1 {
  const binding = rethrowAs("BINDING_MALFORMED", () => decode(ConversationBindingV1Schema, bytes))
  ensure(holds(binding.tenantId, expected.tenantId), "BINDING_WRONG_TENANT")
  ensure(equalBytes(binding.appId, expected.appId), "BINDING_WRONG_APP")
  ensure(equalBytes(binding.conversationId, expected.conversationId), "BINDING_WRONG_CONVERSATION")
  ensure(binding.kind === expected.kind, "BINDING_WRONG_KIND")
  return binding
}
