import type { Mutant } from "./mutant.ts"

const rpc = "server/rpc/token"
const contexts = "test/story/context-tokens.test.ts"
const clients = "test/attack/client-authentication.test.ts"
const exchange = "server/kernel/token/exchange.ts"
const exchanges = "server/kernel/token/exchange.test.ts"

/** Faults in what the token endpoint and its neighbours check. */
export const tokenEndpointMutants: readonly Mutant[] = [
  {
    fault: "introspection answers a service of another tenant",
    file: `${rpc}/introspect.ts`,
    from: "if (!isOurs || account.appId !== token.appId)",
    to: "if (account.appId !== token.appId)",
    test: contexts,
    name: "is told about to no service of another app, and to none that is bound to another tenant",
  },
  {
    fault: "introspection answers a service of another app",
    file: `${rpc}/introspect.ts`,
    from: "if (!isOurs || account.appId !== token.appId)",
    to: "if (!isOurs)",
    test: contexts,
    name: "is told about to no service of another app, and to none that is bound to another tenant",
  },
  {
    fault: "a client whose principal is suspended is authenticated",
    file: `${rpc}/authenticate-client.ts`,
    from: ' || facts.principal !== "ACTIVE"',
    to: "",
    test: clients,
    name: "once its principal is suspended: each state alone is enough",
    row: "once its principal is suspended",
  },
  {
    fault: "a client whose account is disabled is authenticated",
    file: `${rpc}/authenticate-client.ts`,
    from: 'account.status !== "ACTIVE" || ',
    to: "",
    test: clients,
    name: "once its account is disabled: each state alone is enough",
    row: "once its account is disabled",
  },
  {
    fault: "a client whose app is suspended is authenticated",
    file: `${rpc}/authenticate-client.ts`,
    from: ' || app?.status !== "ACTIVE"',
    to: " || app === undefined",
    test: clients,
    name: "once its app is suspended: each state alone is enough",
    row: "once its app is suspended",
  },
  {
    fault: "a refused context exchange is not audited",
    file: `${rpc}/context-grant.ts`,
    from: "    await tx.audit.append(auditEvent(deps, handler, nowMs, denied))\n",
    to: "",
    test: contexts,
    name: "for a token that was addressed to somebody else, and what was tried is written down",
  },
  {
    fault: "a standing delegation holds under every policy of its service",
    file: exchange,
    from: " && isOf(standing, id)",
    to: "",
    test: exchanges,
    name: "under a policy that the standing delegation does not name",
  },
  {
    fault: "a standing delegation names any policy",
    file: exchange,
    from: "policy.id === delegation.policyId && ",
    to: "",
    test: exchanges,
    name: "under a standing delegation that the policy no longer takes",
  },
  {
    fault: "a service exchanges under another service's policy",
    file: exchange,
    from: " && policy.actorPrincipalId === actor.principalId",
    to: "",
    test: exchanges,
    name: "under the standing policy of another service",
  },
  {
    fault: "a client that does not exist is the one that was read in its place",
    file: "server/store/postgres/client-facts.ts",
    from: "return isAsked ? found : undefined",
    to: "return found",
    test: clients,
    name: "unknown, unproven and disabled clients: one body, and the same statements",
  },
]
