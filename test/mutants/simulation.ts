import type { Mutant } from "./mutant.ts"

const client = "clients/core/messaging"
const test = "test/simulation/simulation.test.ts"
const hostileTest = "test/simulation/hostile.test.ts"
const stories = "test/attack/messenger-stories.test.ts"

/** The test that detects a mutant in which the service is hostile for a while and then honest again. */
const hostile = (hostility: string) => ({
  test: hostileTest,
  name: `a service that has turned to ${hostility} no device reads a message of others`,
  row: "no device reads a message of others",
})

const heldLeases = {
  test: "test/simulation/held-leases.test.ts",
  name: "a revoked device is removed within 5 s though 1 member devices hold leases and commit without pause",
  row: "member devices hold leases and commit without pause",
}

const features = "test/simulation/features.test.ts"
const pairing = {
  test: features,
  name: "a new device has the history of the old one, wherever both stop and whatever the service does to chunks",
}
const restored = {
  test: features,
  name: "a service that returns to an earlier state gets the end of its log from devices, and all members read each other",
}
const rewound = {
  test: features,
  name: "a device whose store returns to an earlier copy rejoins, and no other device loses a message or reads one twice",
}
const drill = {
  test: features,
  name: "a user who loses all devices restores the newest complete backup, wherever a backup stops",
}

/** Faults that a simulation once found, as mutants. */
export const simulationMutants: readonly Mutant[] = [
  {
    fault: "a message of a new epoch is encrypted before the older ones that wait",
    file: "clients/core/messaging/sending/outbox.ts",
    from: "const { local, due, wipe, emit } = await renewed(conversation, stored, before)",
    to: "const { local, due, wipe, emit } = { local: before, due: [], wipe: [], emit: [] }",
    test,
    name: "messages that were encrypted in two epochs are sent in an order that receivers can decrypt",
  },
  {
    fault: "a device that was a member twice reads only the second membership",
    file: "server/rpc/messaging/conversation/reads.ts",
    from: "membershipSpan(id, deviceId, asked.afterSeq)",
    to: "membershipSpan(id, deviceId, 1_000_000n)",
    test,
    name: "a device that is removed and added again while it is offline reports both",
  },
  {
    fault: "a message that is stored counts as refused",
    file: "clients/core/messaging/sending/outbox.ts",
    from: "if (isWaiting) throw new",
    to: "if (!isWaiting) throw new",
    test,
    name: "a refused message is never sent",
  },
  {
    fault: "a device admits a member that nobody authorized",
    file: `${client}/checks/authorization.ts`,
    from: "if (!isWhole || !isAsked(person))",
    to: "if (!isWhole)",
    ...hostile("ghost member"),
  },
  {
    fault: "a device that cannot process a commit counts as active",
    file: `${client}/conversation/envelope.ts`,
    from: "{ status: Status.QUARANTINED, quarantine: evidence }",
    to: "{ quarantine: evidence }",
    ...hostile("dropped commit"),
  },
  {
    fault: "a replayed message is decrypted again",
    file: `${client}/conversation/envelope.ts`,
    from: "{ processedSeq: seq, ...(next && { group: next.group }) }",
    to: "{ processedSeq: seq }",
    ...hostile("replay"),
  },
  {
    fault: "a device joins by the GroupInfo of an earlier epoch",
    file: `${client}/checks/group-info.ts`,
    from: "if (shown.epoch > epoch) return",
    to: "if (shown.epoch !== epoch) return",
    ...hostile("old group info"),
  },
  {
    fault: "a device does not report that the log has another commit than it applied",
    file: `${client}/receiving/equivocation.ts`,
    from: "if (told === undefined) return false",
    to: "if (told?.seq !== 0n) return false",
    test: stories,
    name: "a device that processed another commit than the log has reports it with the evidence and asks to rejoin",
  },
  {
    fault: "a device that meets an unknown message of its own goes on with its state",
    file: `${client}/conversation/envelope.ts`,
    from: 'return reason === "OWN_UNKNOWN"',
    to: 'return reason === "NOTHING"',
    ...rewound,
  },
  {
    fault: "a device whose store is a copy sends messages that its newer state may have sent",
    file: `${client}/conversation/envelope.ts`,
    from: "(isAway(state.record) ? [] : [uncertain])",
    to: "[]",
    test: "test/attack/messenger-copies.test.ts",
    name: "a message that waits in a copy, and was encrypted again and sent since, is reported and read once",
  },
  {
    fault: "every device waits although no member can add one",
    file: `${client}/conversation/recovery.ts`,
    from: "hasHelper(event) ? Status.WAITING : Status.STRANDED",
    to: "hasHelper(event) ? Status.WAITING : Status.WAITING",
    test: stories,
    name: "a device that no member could add reports it, and still joins when a member adds it",
  },
  {
    fault: "a device whose leaf key the service rejects does not rejoin",
    file: `${client}/sending/after-refusal.ts`,
    from: "return isRefused && local !== undefined",
    to: "return isRefused && local === undefined",
    test: stories,
    name: "a device whose leaf key the service refuses rejoins if it has a newer credential",
  },
  {
    fault: "a refusal alone counts as evidence of a fork",
    file: `${client}/receiving/equivocation.ts`,
    from: 'if (equalBytes(hash("commit-receipt", envelope.receipt), local.receipt.hash)) return undefined',
    to: "",
    test: stories,
    name: "a refusal alone causes no rejoin: if the log matches, messages wait and are sent",
  },
  {
    fault: "an invalid receipt counts as evidence of a fork",
    file: `${client}/receiving/equivocation.ts`,
    from: 'await rethrowAs("ANSWER_REFUSED", async () => verifyEvidence(conversation, conversation.id, local.group, envelope))',
    to: "if (verifyEvidence.length === 0) throw rethrowAs",
    test: stories,
    name: "a log that has a receipt that nobody signed instead of the processed commit causes no rejoin",
    row: "a receipt that nobody signed",
  },
  {
    fault: "a device that was added while offline waits for an expired welcome",
    file: `${client}/sync/sync.ts`,
    from: "askForLostWelcomes(context, shown.values())",
    to: "askForLostWelcomes(context, [])",
    test: "test/simulation/renewal.test.ts",
    name: "a device whose welcome expired while it was offline requests to rejoin",
  },
  {
    fault: "a leaf with a former credential is not renewed",
    file: `${client}/conversation/recovery.ts`,
    from: "!hasIntent && !equalBytes",
    to: "!hasIntent && equalBytes",
    test: `${client}/conversation/recovery.test.ts`,
    name: "a leaf of a former credential is renewed",
  },
  {
    fault: "all chunks of a file are sealed at one position",
    file: `${client}/attachments/chunk-cipher.ts`,
    from: "setUint32(prefixBytes, index)",
    to: "setUint32(prefixBytes, 0 * index)",
    test: "test/simulation/attachments.test.ts",
    name: "a file whose upload was interrupted and continued is read unchanged, and no position seals two chunks",
  },
  {
    fault: "a chunk with a wrong tag is returned",
    file: `${client}/attachments/chunk-cipher.ts`,
    from: 'throw new MessagingError("ATTACHMENT_TAMPERED", "a chunk does not match its tag", { cause })',
    to: "return ciphertext.slice(0, -16)",
    ...hostile("bent parts"),
  },
  {
    fault: "a device at the log's end with an earlier epoch does not notice the lost commit",
    file: `${client}/conversation/recovery.ts`,
    from: "local.group.epoch < shown.epoch",
    to: "local.group.epoch < 0n * shown.epoch",
    test: hostileTest,
    name: "a device at the service's epoch that did not get a commit requests to rejoin",
  },
  {
    fault: "a device looks for no helper in a conversation that the service shows as not active",
    file: `${client}/conversation/recovery.ts`,
    from: "when(shown === undefined || shown.directives.length > 0,",
    to: "when(isOpen && (shown === undefined || shown.directives.length > 0),",
    ...hostile("equivocation"),
  },
  {
    fault: "each member may renew the lease of a directive",
    file: "server/kernel/messaging/directive.ts",
    from: '  return { is: "lease", directive }\n}',
    to: '  return { is: "lease", directive: { ...directive, lease: { deviceId, untilMs: nowMs + directiveTimesMs.lease } } }\n}',
    ...heldLeases,
  },
  {
    fault: "a device does not return to a directive that another one has leased",
    file: `${client}/sending/directives.ts`,
    from: "    if (leasedMs !== undefined) returnAfter(conversation, leasedMs, returns - 1)\n",
    to: "",
    ...heldLeases,
  },
  {
    fault: "a sender that continues a transfer begins anew",
    file: `${client}/history/send.ts`,
    from: "sendingWith({ ...sending, pending: new Uint8Array() })",
    to: "sendingWith({ toDeviceId: sending.toDeviceId })",
    ...pairing,
  },
  {
    fault: "a history that the service cuts counts as whole",
    file: `${client}/history/receive.ts`,
    from: 'if (archive.status === Status.COMPLETE) throw tampered("it ends before its last chunk")',
    to: 'if (archive.status === Status.COMPLETE) { await dropTransfer(context, id); return "done" }',
    ...pairing,
  },
  {
    fault: "a backup that was not completed is restored in place of the last complete one",
    file: `${client}/backup/stored.ts`,
    from: "kind === Kind.BACKUP && status === Status.COMPLETE)",
    to: "kind === Kind.BACKUP && status !== Status.UNSPECIFIED)",
    ...drill,
  },
  {
    fault: "a device takes the end of a restored log for its own",
    file: `${client}/receiving/resubmit.ts`,
    from: "if (local === undefined || head >= local.processedSeq) return true",
    to: "if (local === undefined || head >= 0n) return true",
    ...restored,
  },
  {
    fault: "keys of skipped messages are not kept",
    file: `${client}/engine/secret-tree.ts`,
    from: "    if (generation >= wanted - maxSkipped.sender) skipped.push({ leaf, generation, ...(await keyOf(kit, ratchet)) })\n",
    to: "",
    ...hostile("late messages"),
  },
]
