import type { Mutant } from "./mutant.ts"

const providers = "server/providers"
const judging = "server/kernel/identity/email-session.ts"
const test = `${providers}/idp-c.test.ts`
const sessions = `${providers}/idp-c-session.test.ts`
const ended = (what: string) => ({ test: sessions, name: `${what} is refused, and ended all the same`, row: what })

/** Mutants of the verification of IDP_C's answers and of the requests to it. */
export const idpCMutants: readonly Mutant[] = [
  {
    fault: "a token may be for another person than the answer",
    file: judging,
    from: ' || sub !== user.id) return invalid("sub")',
    to: ') return invalid("sub")',
    ...ended("of another person than the answer's"),
  },
  {
    fault: "any issuer will do",
    file: judging,
    from: 'if (claims.iss !== issuer) return invalid("iss")',
    to: "",
    ...ended("of another project"),
  },
  {
    fault: "a confirmed phone confirms the address",
    file: judging,
    from: "if (!isDate(user.email_confirmed_at))",
    to: "if (!isDate(user.email_confirmed_at ?? user.confirmed_at))",
    ...ended("beside one with a phone that was"),
  },
  {
    fault: "anonymous people are told by the token alone",
    file: judging,
    from: "isAnonymous(claims) || isAnonymous(user)",
    to: "isAnonymous(claims)",
    ...ended("beside somebody anonymous"),
  },
  {
    fault: "a project with a secret publishes keys too",
    file: `${providers}/idp-c-token.ts`,
    from: "if (client.tokenSecretSealed !== null) return",
    to: 'if (client.tokenSecretSealed !== null && token.startsWith("eyJhbGciOiJIUzI1NiIs")) return',
    test: sessions,
    name: "made with a secret is refused where keys are published, and the other way round",
  },
  {
    fault: "a token secret may be short",
    file: `${providers}/idp-c-token.ts`,
    from: "const minSecretLength = 32",
    to: "const minSecretLength = 1",
    test: sessions,
    name: "is not verified with a guessable secret",
  },
  {
    fault: "a session of somebody refused lives on",
    file: `${providers}/idp-c.ts`,
    from: `    } finally {
      await signOut(project, session.accessToken)
    }`,
    to: "    } finally {}",
    ...ended("of somebody anonymous"),
  },
  {
    fault: "the secret key is a bearer too",
    file: `${providers}/idp-c.ts`,
    from: "    apikey: secretKey,",
    to: '    apikey: secretKey, authorization: "Bearer " + secretKey,',
    test: "test/interop/supabase-auth.test.ts",
    name: "the secret key is in the header apikey and nowhere else; the session ends as its own bearer",
    table: "test/support/email-project-suite.ts",
  },
  {
    fault: "each of those who bring a link at once gets a use of their own",
    file: `${providers}/idp-c.ts`,
    from: "const use = deps.secrets.digest(",
    to: "const use = deps.secrets.digest(Math.random() + ",
    test: "test/interop/supabase-auth.test.ts",
    name: "concurrent uses of one link get the same single-use token hash",
    table: "test/support/email-project-suite.ts",
  },
  {
    fault: "production asks this machine",
    file: `${providers}/idp-c.ts`,
    from: "if (!isServerAddress(projectUrl, isLoopbackAllowed)) return undefined",
    to: "",
    test,
    name: "leads to this machine only in development",
  },
  {
    fault: "the limit on mails tells who is known",
    file: `${providers}/idp-c-answer.ts`,
    from: 'if (code === "over_email_send_rate_limit" && !mayCreate) return code',
    to: "",
    test,
    name: "gets the same answer at the project's mail limit, which only known addresses reach",
  },
  {
    fault: "a fault of one request opens the circuit",
    file: `${providers}/idp-c-answer.ts`,
    from: "return status <= 500",
    to: "return status < 500",
    test,
    name: "is asked on while it refuses: nobody shuts others out with wrong passwords or strange text",
  },
  {
    fault: "everybody tries when the circuit half opens",
    file: `${providers}/circuit-breaker.ts`,
    from: "circuit.isProbing || clock.nowMs() < circuit.triesAtMs",
    to: "clock.nowMs() < circuit.triesAtMs",
    test: `${providers}/circuit-breaker.test.ts`,
    name: "after ten seconds one request tries, while the others are refused",
  },
]
