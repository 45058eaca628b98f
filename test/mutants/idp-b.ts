import type { Mutant } from "./mutant.ts"

const providers = "server/providers"

/** Mutants of the verification of IDP_B's tokens. */
export const idpBMutants: readonly Mutant[] = [
  {
    fault: "any text for a boolean is true",
    file: `${providers}/idp-b.ts`,
    from: 'return value === true || value === "true"',
    to: "return Boolean(value)",
    test: `${providers}/idp-b.test.ts`,
    name: '"TRUE" is true: false',
    row: '["TRUE", false]',
  },
  {
    fault: "a client needs no team",
    file: `${providers}/idp-b.ts`,
    from: 'if (client.providerTenant === null) throw new Refused("PROVIDER_NOT_CONFIGURED")',
    to: "",
    test: `${providers}/idp-b.test.ts`,
    name: "for a client without a team is refused, whatever its claims",
  },
  {
    fault: "a token's name is believed",
    file: `${providers}/idp-b.ts`,
    from: "name: null, ",
    to: "",
    test: `${providers}/idp-b.test.ts`,
    name: "signed with RS256 vouches for its subject in its team",
    row: "vouches for its subject in its team",
  },
  {
    fault: "a code needs no nonce",
    file: `${providers}/idp-b.ts`,
    from: 'if (nonce === "") throw new Refused("NONCE_MISMATCH", { metadata: { claim: "nonce" } })',
    to: "",
    test: `${providers}/idp-b-endpoints.test.ts`,
    name: "without a nonce, even where none is required",
  },
  {
    fault: "a code that was sent to an address may come without it",
    file: `${providers}/idp-b-endpoints.ts`,
    from: "redirectUris.length === 0",
    to: "true",
    test: `${providers}/idp-b-endpoints.test.ts`,
    name: "without an address, of a client that has some",
  },
  {
    fault: "a revocation that was refused counts as done",
    file: `${providers}/idp-b-endpoints.ts`,
    from: "if (answer.status === 200) return",
    to: "if (answer.status < 500) return",
    test: `${providers}/idp-b-endpoints.test.ts`,
    name: "cannot be ended by a client that is of another team",
    row: "is of another team",
  },
  {
    fault: "a client secret lives for a day",
    file: `${providers}/client-secret.ts`,
    from: "const lifeSeconds = 300",
    to: "const lifeSeconds = 86_400",
    test: `${providers}/idp-b-endpoints.test.ts`,
    name: "is a token of the team, for the client, made for this request and for five minutes",
  },
  {
    fault: "a client secret is for the address that it is sent to",
    file: `${providers}/client-secret.ts`,
    from: "aud: canonicalIssuer",
    to: 'aud: client.tokenEndpoint ?? ""',
    test: `${providers}/idp-b-endpoints.test.ts`,
    name: "is a token of the team, for the client, made for this request and for five minutes",
  },
  {
    fault: "an audience that two teams claim is the first one's",
    file: `${providers}/notification.ts`,
    from: "a.providerTenant === b.providerTenant &&",
    to: "",
    test: `${providers}/notification.test.ts`,
    name: "is refused when two teams claim its audience, and is none of a third's",
  },
]
