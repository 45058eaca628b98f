import type { Mutant } from "./mutant.ts"

const chains = "server/kernel/audit/verify-chains.ts"
const chainTests = "server/kernel/audit/verify-chains.test.ts"
const checkpoints = "server/kernel/audit/verify-checkpoints.ts"
const rows = "server/kernel/audit/row.ts"
const store = "server/store/postgres/audit-chain.test.ts"
const sealing = "server/node/admin/sealing-keys.test.ts"
const tampering = "server/store/postgres/audit-tampering.test.ts"

/** Faults in what the audit's chains show, and in what is forgotten of people. */
export const auditMutants: readonly Mutant[] = [
  {
    fault: "a row is not compared with what was linked",
    file: chains,
    from: "|| !seals.equal(eventHash(seals, row), link.eventHash)",
    to: "",
    test: chainTests,
    name: "a row that was changed or is gone is named where it is",
  },
  {
    fault: "links need not follow each other's hashes",
    file: chains,
    from: "|| !seals.equal(linkHash(seals, after, link), link.hash)",
    to: "",
    test: chainTests,
    name: "a link that was changed is named where it is",
  },
  {
    fault: "a gap is no gap",
    file: chains,
    from: "const isGap = !isReordered && link.seq !== after.seq + 1n",
    to: "const isGap = false",
    test: chainTests,
    name: "a link that is gone is named, unless it was the last: that is for the checkpoints",
  },
  {
    fault: "anybody's stamp is the service's",
    file: chains,
    from: 'return isStamped(seals, row, isBefore) ? undefined : "EVENT_FORGED"',
    to: "return undefined",
    test: tampering,
    name: "an event that was changed by somebody who made all links after it anew: the stamp tells",
  },
  {
    fault: "what has no stamp is of before when its link says so",
    file: chains,
    from: "link.seq <= (unstampedUntil.get(link.shard) ?? 0n)",
    to: "link.linkedAtMs < 1_000",
    test: store,
    name: "an event without a stamp is none of before either when its link is dated back",
    row: "is none of before either when its link is dated back",
  },
  {
    fault: "an event may be in any chain",
    file: chains,
    from: 'if (shardOf(row) !== link.shard) return "LINK_REORDERED"',
    to: "",
    test: store,
    name: "an event in another chain than its own is named, since its own's readers would not miss it",
  },
  {
    fault: "chains may end before a checkpoint says",
    file: checkpoints,
    from: '} else yield ends.has(shard) ? flaw("TAIL_CUT", { shard, seq }) : flaw("CHAIN_MISSING", { shard, seq })',
    to: "}",
    test: tampering,
    name: "a tail that was cut, against the checkpoint",
  },
  {
    fault: "a checkpoint that was kept elsewhere counts for nothing",
    file: checkpoints,
    from: "(kept.get(number) ?? jws) === jws",
    to: "true",
    test: tampering,
    name: "checkpoints that were made anew as well: those that were kept elsewhere tell",
  },
  {
    fault: "checkpoints need not follow each other",
    file: checkpoints,
    from: "followsLast &&",
    to: "",
    test: chainTests,
    name: "a checkpoint of other heads, of another number, after another or without a stamp is named",
  },
  {
    fault: "a stamp leaves out what names a person",
    file: rows,
    from: "    row.personalSealed && hex(row.personalSealed),",
    to: "",
    test: chainTests,
    name: "a row that was changed or is gone is named where it is",
  },
  {
    fault: "a person's key outlives them",
    file: "server/store/postgres/erase.ts",
    from: "await eraseKeys(db, [id, ...(principal === undefined ? [] : [principal.id])], nowMs)",
    to: "",
    test: store,
    name: "what names a person is gone with them, and the chain is whole as before",
  },
  {
    fault: "who is denied without end is written down without end",
    file: "server/kernel/limits/denial-budget.ts",
    from: "if (of.denials > most) {",
    to: "if (of.denials < 0) {",
    test: "server/kernel/limits/denial-budget.test.ts",
    name: "the first denials of a minute are written down, and the next minute's first tells how many were not",
  },
  {
    fault: "stamps of a retired sealing key count for good",
    file: chains,
    from: "by !== undefined && (by.until === null || isBefore(by.until))",
    to: "by !== undefined",
    test: chainTests,
    name: "stamps of a retired key count up to the checkpoint that ends them, in each chain by its own place",
  },
  {
    fault: "a retired sealing key stamps checkpoints",
    file: checkpoints,
    from: "|| (by.until !== null && checkpoint.number >= by.until.checkpoint)",
    to: "",
    test: sealing,
    name: "and has the old key makes no checkpoint, and no chain begin later",
  },
  {
    fault: "a retired sealing key stamps where a chain begins",
    file: "server/store/postgres/audit-verify.ts",
    from: "bytes(row.stamp))?.until === null",
    to: "bytes(row.stamp)) !== undefined",
    test: sealing,
    name: "and has the old key makes no checkpoint, and no chain begin later",
  },
  {
    fault: "a sealing key's end may be taken back in the database",
    file: "server/store/postgres/audit-verify.ts",
    from: "eventId === undefined || until !== null ? []",
    to: "eventId !== null ? []",
    test: sealing,
    name: "and puts back what the keys were before the end is found",
  },
  {
    fault: "a process may have a retired sealing key",
    file: "server/kernel/keys/sealing.ts",
    from: 'if (status === "RETIRED" && isHeld)',
    to: 'if (status === "RETIRED" && isHeld && held.length > 9)',
    test: sealing,
    name: "ends the old key: it neither seals nor opens, and no process starts with it",
  },
  {
    fault: "a rotation begins while a server does not have the new key",
    file: "server/kernel/keys/sealing.ts",
    from: "!keyIds.includes(next)).length",
    to: "false).length",
    test: sealing,
    name: "that cannot work is refused before anything is written",
  },
]
