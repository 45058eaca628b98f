import type { Mutant } from "./mutant.ts"

const client = "clients/core/messaging"
const test = "test/simulation/features.test.ts"

const listening = {
  test,
  name: "whoever listens hears in time, though hints are late and lost, and streams end or go deaf",
}
const tabs = {
  test,
  name: "two tabs of one store are one device, whichever of them freezes, and wherever it ends",
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
    fault: "a stream that has gone deaf is listened to for ever",
    file: `${client}/sync/stream.ts`,
    from: "cancel = clock.after(silentMs, () => silence.abort())",
    to: "cancel = () => {}",
    ...listening,
  },
  {
    fault: "a call that is lost without a word is waited for for ever",
    file: `${client}/calls.ts`,
    from: "timeoutMs = answerMs, header",
    to: "timeoutMs, header",
    ...listening,
  },
  {
    fault: "what a hint leaves out is not fetched",
    file: `${client}/sync/stream.ts`,
    from: "processedSeq < headSeq) await catchUp",
    to: "processedSeq < 0n * headSeq) await catchUp",
    ...listening,
  },
  {
    fault: "a hint of a welcome is passed over",
    file: `${client}/sync/stream.ts`,
    from: "      await joinAll(context)\n",
    to: "",
    ...listening,
  },
  {
    fault: "a hint of a new device is passed over",
    file: `${client}/sync/stream.ts`,
    from: "return userId === context.owner.userId ? addNewOwnDevices(context) : addDevicesOf(context, userId)",
    to: "return",
    ...listening,
  },
  {
    fault: "who comes back to a stream does not ask what it has missed",
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
    fault: "a device that came before its key packages is tried once",
    file: `${client}/device/own-devices.ts`,
    from: "if (await addOwnDevices(context)) return",
    to: "await addOwnDevices(context)\n    return",
    test,
    name: "a device that came before its key packages is let in by the user's other one soon",
  },
  {
    fault: "state that another tab has changed is gone on with",
    file: `${client}/effects/stored-state.ts`,
    from: "if (cached?.generation !== generation) cached = undefined",
    to: "",
    ...tabs,
  },
  {
    fault: "what another tab was first to write counts as written",
    file: `${client}/effects/store-tx.ts`,
    from: 'return done === "GENERATION_MISMATCH" ? "lost" : "committed"',
    to: 'return "committed"',
    ...tabs,
  },
  {
    fault: "what a tab took in as it was removed it tells again",
    file: `${client}/state/reporter.ts`,
    from: "after.local?.processedSeq ?? lastSeqIn(ops)",
    to: "after.local?.processedSeq",
    ...tabs,
  },
  {
    fault: "what another tab took in before the device was removed is told nowhere else",
    file: `${client}/state/reporter.ts`,
    from: "seq === undefined || seq > before.seq",
    to: "seq !== undefined && seq > before.seq",
    ...tabs,
  },
]
