import type { Mutant } from "./mutant.ts"

const statement = "server/kernel/revocation/statement.ts"
const statements = "server/kernel/revocation/statement.test.ts"
const set = "server/kernel/revocation/revocation-set.ts"
const sets = "server/kernel/revocation/revocation-set.test.ts"
const feed = "server/guard/revocation-feed.ts"
const feeds = "server/guard/revocation-feed.test.ts"
const log = "server/store/postgres/revocation-log.ts"
const logs = "server/store/postgres/revocation-log.test.ts"
const ring = "server/keys/key-ring.ts"
const rings = "server/keys/key-ring.test.ts"

/** Faults in what is revoked, who hears of it, and what signs that. */
export const revocationMutants: readonly Mutant[] = [
  {
    fault: "a log that lost its end is believed",
    file: statement,
    from: 'if (head < position.head) return "ROLLBACK"',
    to: "",
    test: feeds,
    name: "a log that ends before what was read is not believed, and what was read of it stays",
  },
  {
    fault: "a statement that leaves something out is taken",
    file: statement,
    from: 'if (from > position.seq) return "GAP"',
    to: "",
    test: feeds,
    name: "a gap leads to the beginning, and a lower end is not believed there either",
  },
  {
    fault: "an old statement counts as news",
    file: statement,
    from: "|| asOfMs < expected.nowMs - maxAgeMs",
    to: "",
    test: statements,
    name: "that was kept for a minute",
  },
  {
    fault: "a page in the middle counts as the end",
    file: statement,
    from: "asOfMs: to === head ? Math.max(position.asOfMs, asOfMs) : position.asOfMs",
    to: "asOfMs: Math.max(position.asOfMs, asOfMs)",
    test: statements,
    name: "page by page: until the last, no more is known than before",
  },
  {
    fault: "what acts again takes tokens from before",
    file: set,
    from: 'return issuedAtMs < entry.issuedBeforeMs ? "before" : undefined',
    to: "return undefined",
    test: sets,
    name: "a PRINCIPAL: tokens from before stay refused, later ones count",
    row: "tokens from before stay refused, later ones count",
  },
  {
    fault: "a service that acts is not looked at",
    file: set,
    from: 'actor: actor === "all" ? "SUSPENDED" : "ACTIVE"',
    to: 'actor: "ACTIVE"',
    test: sets,
    name: "who acts",
  },
  {
    fault: "a set that is full forgets silently",
    file: feed,
    from: "if (!revoked.add(entries, clock.nowMs())) {",
    to: "revoked.add(entries, clock.nowMs())\n      if (capacity < 0) {",
    test: feeds,
    name: "more than there is room for is stale, not forgotten",
  },
  {
    fault: "a verified token outlives its key",
    file: feed,
    from: 'revoked.isKeyRevoked(kid, clock.nowMs()) ? "KEY_UNKNOWN" : keys.find(kid)',
    to: "keys.find(kid)",
    test: feeds,
    name: "a key that was revoked is withdrawn at once, also from what was verified with it",
  },
  {
    fault: "an entry that is being written holds up the others",
    file: log,
    from: "for update skip locked\n), placed",
    to: "for update\n), placed",
    test: logs,
    name: "who writes to an entry that waits holds up no other",
  },
  {
    fault: "an expired entry is told",
    file: log,
    from: "where seq > $1 and expires_at > $2",
    to: "where seq > $1 and $2 = $2",
    test: logs,
    name: "what has expired is told nobody, and its going is no gap",
  },
  {
    fault: "an entry that changes is told nobody until it has its new place",
    file: "server/store/postgres/revocations.ts",
    from: "  is_pending = true`",
    to: "  seq = null`",
    test: logs,
    name: "what changes is told at its old place until it has its new one",
  },
  {
    fault: "a restored database gives out versions again",
    file: log,
    from: "await run(trx, raiseAuthoritiesText, [])",
    to: "",
    test: "server/store/postgres/authority.test.ts",
    name: "after a restore no version is given out again",
  },
  {
    fault: "one key signs for every purpose",
    file: ring,
    from: "keysOf(purposeOf(typ)).current",
    to: 'keysOf(purposeOf(typ) && "ACCESS").current',
    test: rings,
    name: "what is signed as rev+jwt verifies with the keys of its purpose alone",
    row: "verifies with the keys of its purpose alone",
  },
  {
    fault: "a key opens for whatever its row says",
    file: "server/kernel/keys/sealed-columns.ts",
    from: 'label(purpose === "ACCESS" ?',
    to: "label(purpose ?",
    test: rings,
    name: "a row that was given another purpose does not open",
  },
]
