import type { Mutant } from "./mutant.ts"

/** Mutants of what the Worker believes of a request, and of its own calls. */
export const edgeMutants: readonly Mutant[] = [
  {
    fault: "the Worker believes the address that a caller claims",
    file: "server/edge/worker/front/arrived.ts",
    from: 'request.headers.get("cf-connecting-ip")',
    to: 'request.headers.get("x-forwarded-for") ?? request.headers.get("cf-connecting-ip")',
    test: "server/edge/worker/front/arrived.test.ts",
    name: "a request's address is the platform's, whatever other headers claim",
  },
  {
    fault: "a call to the auth service follows a redirect",
    file: "server/edge/worker/auth/call.ts",
    from: 'redirect: "manual",\n',
    to: 'redirect: "follow",\n',
    test: "server/edge/worker/auth/call.test.ts",
    name: "a redirect is not followed: no other server sees the request",
  },
  {
    fault: "every page is allowed while the origins cannot be loaded",
    file: "server/serving/rest/cross-origin.ts",
    from: ".catch(() => false)",
    to: ".catch(() => true)",
    test: "server/serving/rest/cross-origin.test.ts",
    name: "while the origins cannot be loaded, no page is allowed",
  },
]
