import type { Mutant } from "./mutant.ts"

const client = "clients/core/messaging"
const test = "test/simulation/features.test.ts"

const listening = {
  test,
  name: "a listener reads in time although hints are late or lost, and streams end or fall silent",
}
const tabs = {
  test,
  name: "two tabs of one store act as one device, whichever tab freezes or ends",
}

const orders = {
  test: "test/simulation/interleavings.test.ts",
  table: "test/simulation/interleavings.ts",
}

/** Mutants that a simulation detects by listening devices and by tabs. */
export const simulatedTabMutants: readonly Mutant[] = [
  {
    fault: "a tab drops a commit that another one has staged since",
    file: `${client}/sending/after-refusal.ts`,
    from: "commitHash !== undefined && stored.staged !== undefined && equalBytes(stored.staged.commitHash, commitHash)",
    to: "stored.staged !== undefined",
    ...orders,
    name: "a commit each, the first refused",
  },
  {
    fault: "a device that rejoins does not ask whether its message was accepted",
    file: `${client}/sending/accepted.ts`,
    from: "if (record.message.length === 0) continue",
    to: "if (record.message.length >= 0) continue",
    test,
    name: "a message whose answer was lost before a rejoin is in the log once",
  },
  {
    fault: "a tab encrypts a message again that another one has sent since",
    file: `${client}/sending/outbox.ts`,
    from: "if (waiting.length === 0 || waiting[0]?.record.epoch === local.group.epoch) return",
    to: "if (waiting.length === 0) return",
    ...orders,
    name: "a message each after an epoch ended",
  },
  {
    fault: "a tab commits what another one has committed since",
    file: `${client}/sending/commits.ts`,
    from: "if (intentId !== directiveIntent && !isStored(stored, intentId)) return",
    to: 'if (intentId === "") return',
    ...orders,
    name: "a commit each after another's commit",
  },
  {
    fault: "a silent stream is never closed",
    file: `${client}/sync/stream.ts`,
    from: "cancel = clock.after(silentMs, () => silence.abort())",
    to: "cancel = () => {}",
    ...listening,
  },
  {
    fault: "a call without an answer has no timeout",
    file: `${client}/calls.ts`,
    from: "timeoutMs = answerMs, header",
    to: "timeoutMs, header",
    ...listening,
  },
  {
    fault: "envelopes beyond those in a hint are not fetched",
    file: `${client}/sync/stream.ts`,
    from: "processedSeq < headSeq) await catchUp",
    to: "processedSeq < 0n * headSeq) await catchUp",
    ...listening,
  },
  {
    fault: "a hint of a welcome is ignored",
    file: `${client}/sync/stream.ts`,
    from: "      await joinAll(context)\n",
    to: "",
    ...listening,
  },
  {
    fault: "a hint of a new device is ignored",
    file: `${client}/sync/stream.ts`,
    from: "return userId === context.owner.userId ? addNewOwnDevices(context) : addDevicesOf(context, userId)",
    to: "return",
    ...listening,
  },
  {
    fault: "a device that reopens its stream does not sync",
    file: `${client}/sync/stream.ts`,
    from: "      await sync(context)\n      for await",
    to: "      if (failures === 0) await sync(context)\n      for await",
    ...listening,
  },
  {
    fault: "a hint about an older head replaces a newer one",
    file: `${client}/sync/hint-turns.ts`,
    from: "newest(later.get(name), hint)",
    to: "hint",
    test: `${client}/sync/hint-turns.test.ts`,
    name: "of several hints about one log that arrive in another order, the one with the newest head is followed",
    row: "in another order",
  },
  {
    fault: "a hint that arrives at the end of a turn is lost",
    file: `${client}/sync/hint-turns.ts`,
    from: "    later.delete(name)\n",
    to: "    await undefined\n    later.delete(name)\n",
    test: `${client}/sync/hint-turns.test.ts`,
    name: "a hint that arrives 1 microtasks after the end of a turn is followed",
    row: "microtasks after the end of a turn is followed",
  },
  {
    fault: "a new device without key packages is added only at the first attempt",
    file: `${client}/device/own-devices.ts`,
    from: "if (await addOwnDevices(context)) return",
    to: "await addOwnDevices(context)\n    return",
    test,
    name: "a device that registers before it has key packages is soon added by the user's other device",
  },
  {
    fault: "a tab continues with state that another tab has changed",
    file: `${client}/effects/stored-state.ts`,
    from: "if (cached?.generation !== generation) cached = undefined",
    to: "",
    ...tabs,
  },
  {
    fault: "a write that lost to another tab counts as written",
    file: `${client}/effects/store-tx.ts`,
    from: 'return done === "GENERATION_MISMATCH" ? "lost" : "committed"',
    to: 'return "committed"',
    ...tabs,
  },
  {
    fault: "a tab reports again the entries that it applied at its removal",
    file: `${client}/state/reporter.ts`,
    from: "after.local?.processedSeq ?? lastSeqIn(ops)",
    to: "after.local?.processedSeq",
    ...tabs,
  },
  {
    fault: "entries that another tab applied before the removal are not reported",
    file: `${client}/state/reporter.ts`,
    from: "seq === undefined || seq > before.seq",
    to: "seq !== undefined && seq > before.seq",
    ...tabs,
  },
]
