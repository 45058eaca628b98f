import type { Mutant } from "./mutant.ts"

const keySet = "server/guard/key-set.ts"
const caches = "server/guard/key-set-cache.test.ts"
const certificate = "server/guard/mailbox-certificate.ts"
const certificates = "server/guard/mailbox-certificate.test.ts"
const jwt = "server/guard/jwt.ts"
const tokens = "server/guard/access-token.test.ts"
const strict = "server/guard/strict-json.ts"
const json = "server/guard/strict-json.test.ts"
const requirement = "server/guard/check-requirement.ts"
const requirements = "server/guard/check-requirement.test.ts"

/** Faults in what a guard checks before it decides. */
export const guardCheckMutants: readonly Mutant[] = [
  {
    fault: "a cached key set of the future counts",
    file: keySet,
    from: " || entry.fetchedAtMs > clock.nowMs()",
    to: "",
    test: caches,
    name: "of the future serves neither while the issuer publishes none",
  },
  {
    fault: "a cached key set brings withdrawn keys back",
    file: keySet,
    from: "if (loaded !== undefined && entry.fetchedAtMs < loaded.fetchedAtMs) return false\n",
    to: "",
    test: caches,
    name: "brings no withdrawn key back: an older one replaces none that was fetched since",
  },
  {
    fault: "a cached key set of any age spares the issuer",
    file: keySet,
    from: "clock.nowMs() - entry.fetchedAtMs <= limits.cacheMaxAgeMs",
    to: "true",
    test: caches,
    name: "that is too old puts no question to the issuer off for longer than a failed one",
  },
  {
    fault: "a cached key set that is too old counts as looked at",
    file: keySet,
    from: "isFresh ? clock.nowMs() : entry.fetchedAtMs",
    to: "clock.nowMs()",
    test: caches,
    name: "that is too old puts no question to the issuer off for longer than a failed one",
  },
  {
    fault: "the cache is asked for a kid that it lacks",
    file: keySet,
    from: "if (!isForced && (await loadFromCache())) return",
    to: "if (await loadFromCache()) return",
    test: caches,
    name: "is not asked for a kid that it may lack: the issuer is",
  },
  {
    fault: "made-up kids are remembered without end",
    file: keySet,
    from: "if (unknown.size < limits.maxUnknown) break",
    to: "break",
    test: caches,
    name: "kids that no fetch brought are remembered up to their limit, the oldest forgotten first",
  },
  {
    fault: "a local key set finds any key",
    file: keySet,
    from: "key.kid === kid",
    to: "key.kid !== ''",
    test: caches,
    name: "a local key set finds the key that is named, and none that its ring has dropped",
  },
  {
    fault: "a made-up kid of any shape leads to a fetch",
    file: jwt,
    from: 'typeof kid === "string" && /^[A-Za-z0-9_-]{1,128}$/.test(kid)',
    to: 'typeof kid === "string"',
    test: tokens,
    name: "a kid that no issuer of ours writes leads to no fetch, however old the keys are",
  },
  {
    fault: "a list in a header has names",
    file: strict,
    from: 'part.startsWith(\'"\') && (last === "{" || last === ",")',
    to: "part.startsWith('\"')",
    test: json,
    name: "no text that JSON.stringify writes has a name twice",
  },
  {
    fault: "an object in a header does not end",
    file: strict,
    from: 'else if (part === "}" || part === "]") open.pop()',
    to: 'else if (part === "]") open.pop()',
    test: json,
    name: "a name again after an object",
  },
  {
    fault: "a certificate of any issuer counts",
    file: certificate,
    from: 'if (payload.iss !== issuer) return "ISSUER_MISMATCH"\n',
    to: "\n",
    test: certificates,
    name: "is refused of another issuer, and nobody is asked",
    row: "of another issuer",
  },
  {
    fault: "every envelope leads to a question for its certificate",
    file: certificate,
    from: "if (isAsked || (",
    to: "if ((",
    test: certificates,
    name: "is asked for at most once a minute, while the answer is out of time or there is none",
  },
  {
    fault: "a newer certificate that expired is never replaced",
    file: certificate,
    from: '(newer !== "ENVELOPE_CERTIFICATE_EXPIRED" && kept.certificate !== undefined)',
    to: "kept.certificate !== undefined",
    test: certificates,
    name: "that expired is replaced by the one of now, which is asked for once while it is good",
  },
  {
    fault: "newer certificates are remembered without end",
    file: certificate,
    from: "if (found.size < options.cacheSize) break",
    to: "break",
    test: certificates,
    name: "is remembered for 2 keys, the oldest forgotten first",
    row: "is remembered for %i keys, the oldest forgotten first",
  },
  {
    fault: "a certificate is invalid while the service's keys are out of reach",
    file: certificate,
    from: 'if (reason === "UNAVAILABLE") return reason\n',
    to: "\n",
    test: certificates,
    name: "cannot be judged while the service's keys are not to be had",
  },
  {
    fault: "a composite may hold a public part",
    file: requirement,
    from: "if (isInComposite) throw",
    to: "if (!readable) throw",
    test: requirements,
    name: "is refused before the first call: public inside a composite",
    row: "public inside a composite",
  },
  {
    fault: "a requirement may ask for facts without an age",
    file: requirement,
    from: "!(requirement.freshness.maxStalenessMs >= 0)",
    to: "requirement.freshness.maxStalenessMs < 0",
    test: requirements,
    name: "is refused before the first call: freshness without an age",
    row: "freshness without an age",
  },
]
