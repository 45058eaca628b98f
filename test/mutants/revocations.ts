import type { Mutant } from "./mutant.ts"

const feed = "server/guard/revocation/feed.ts"
const feeds = "server/guard/revocation/feed.test.ts"
const log = "server/store/postgres/token/revocation-log.ts"
const logs = "server/store/postgres/token/revocation-log.test.ts"
const ring = "server/keys/key-ring.ts"
const rings = "server/keys/key-ring.test.ts"

/** Mutants of revocation: the revoked set, its statements and the keys that sign them. */
export const revocationMutants: readonly Mutant[] = [
  {
    fault: "a set that is full forgets silently",
    file: feed,
    from: "if (!revoked.add(entries, clock.nowMs())) {",
    to: "revoked.add(entries, clock.nowMs())\n      if (capacity < 0) {",
    test: feeds,
    name: "beyond its capacity the feed is stale, and no entry is dropped",
  },
  {
    fault: "an entry that is being written holds up the others",
    file: log,
    from: "for update skip locked\n), placed",
    to: "for update\n), placed",
    test: logs,
    name: "a write to a pending entry delays no other entry",
  },
  {
    fault: "an expired entry is told",
    file: log,
    from: "where seq > $1 and expires_at > $2",
    to: "where seq > $1 and $2 = $2",
    test: logs,
    name: "an expired entry is not published, and leaves no gap",
  },
  {
    fault: "an entry that changes is told nobody until it has its new place",
    file: "server/store/postgres/token/revocations.ts",
    from: "  is_pending = true`",
    to: "  seq = null`",
    test: logs,
    name: "a changed entry keeps its old sequence number until it has a new one",
  },
  {
    fault: "a restored database gives out versions again",
    file: log,
    from: "await run(trx, raiseAuthoritiesText, [])",
    to: "",
    test: "server/store/postgres/admin/authority.test.ts",
    name: "after a restore no principal's version is issued twice",
  },
  {
    fault: "one key signs for every purpose",
    file: ring,
    from: "keysOf(purposeOf(typ)).current",
    to: 'keysOf(purposeOf(typ) && "ACCESS").current',
    test: rings,
    name: "what is signed as rev+jwt verifies only with the keys of its purpose",
    row: "verifies only with the keys of its purpose",
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
