import type { Mutant } from "./mutant.ts"

const envelopes = "test/attack/envelopes.test.ts"
const contexts = "test/attack/mailbox.test.ts"
const forwarders = "test/attack/forwarders.test.ts"

/** Mutants of the authority checks for mailbox messages and of their deduplication. */
export const mailboxMutants: readonly Mutant[] = [
  {
    fault: "what a transport does with its buffer is done to the message",
    file: "server/guard/mailbox/payload.ts",
    from: "fromBinary(PostedEnvelopeSchema, new Uint8Array(bytes))",
    to: "fromBinary(PostedEnvelopeSchema, bytes)",
    test: envelopes,
    name: "if the bytes are overwritten during verification",
  },
  {
    fault: "a guard that is patient by default makes its mailboxes take old authority",
    file: "server/guard/mailbox/mailbox.ts",
    from: "const freshness = requirement.freshness ?? inherited",
    to: 'const freshness = requirement.freshness ?? { ...inherited, onStale: "DENY" }',
    test: contexts,
    name: "is the only kind that may accept the authority at the time of sending",
  },
  {
    fault: "a context token is good in whoever's envelope",
    file: "server/guard/mailbox/context.ts",
    from: 'if (found.claims.aud !== first.sender.principalId) return "AUDIENCE_MISMATCH"',
    to: "",
    test: contexts,
    name: "that was issued to another sender, or is for a service, is refused",
  },
  {
    fault: "a message carries whatever scopes its sender says",
    file: "server/guard/mailbox/context.ts",
    from: 'if (!isWithin(first.scopes, found.claims.scp)) return "ENVELOPE_SCOPES_WIDENED"',
    to: "",
    test: envelopes,
    name: "carries a scope that its context has not",
  },
  {
    fault: "a forwarded message carries all that the first one did",
    file: "server/guard/mailbox/context.ts",
    from: "const scopes = chain.at(-1)?.scopes ?? []",
    to: "const scopes = first.scopes",
    test: forwarders,
    name: "can narrow the scopes, and later receivers cannot widen them",
  },
  {
    fault: "the certificate of any key serves",
    file: "server/guard/mailbox/certificate.ts",
    from: 'return known.kid === kid ? known : "ENVELOPE_CERTIFICATE_INVALID"',
    to: "return known",
    test: envelopes,
    name: "is for another key, has another issuer's signature, or is another kind of token",
  },
  {
    fault: "an envelope says whose it is",
    file: "server/guard/mailbox/open.ts",
    from: 'if (payload.issuerPrincipal !== sender.principalId) return "ENVELOPE_CERTIFICATE_INVALID"',
    to: "",
    test: envelopes,
    name: "says that it is somebody else",
  },
  {
    fault: "a message may be another than was sealed",
    file: "server/guard/mailbox/mailbox.ts",
    from: 'if (hex(await sha256(message)) !== last.messageDigest) refuse("ENVELOPE_MESSAGE_ALTERED")',
    to: "",
    test: envelopes,
    name: "if a message is replaced",
  },
  {
    fault: "a sender uses up the ids of another",
    file: "server/guard/mailbox/mailbox.ts",
    from: "{sender.principalId} ",
    to: "{mailbox} ",
    test: envelopes,
    name: "without using up the id of an envelope that is still to come",
  },
  {
    fault: "a service registers a key that it does not have",
    file: "server/rpc/service-account/envelope-keys.ts",
    from: "const isProven = id !== undefined && (await key.verify(new Uint8Array(proof), proofBytes(id)))",
    to: "const isProven = id !== undefined && key !== undefined && proofBytes(id).length > proof.length - 64",
    test: "test/story/envelope-keys.test.ts",
    name: "with a proof of another key, or for another account",
  },
]
