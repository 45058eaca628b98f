import type { Mutant } from "./mutant.ts"

const core = "clients/core/messaging"
const node = "clients/node"
const answers = "test/attack/messenger-answers.test.ts"
const state = "test/story/messenger-state.test.ts"
const envelopes = "test/story/messenger-envelopes.test.ts"
const folder = { file: `${node}/messaging/folder-store.ts`, test: `${node}/messaging/folder-store.test.ts` }

/** Hand-written mutants of the clients' local stores, each with the test that detects it. */
export const localStoreMutants: readonly Mutant[] = [
  {
    ...folder,
    fault: "a folder is told to be written before its names are on the disk",
    from: "  await files.sync()\n",
    to: "",
    name: "a transaction is whole: before it, ends: true, none of them stays",
    row: "none of them stays",
  },
  {
    ...folder,
    fault: "a writer that comes back late is told that it has written",
    from: "isWithin(span, other)",
    to: "other.to < span.from && isWithin(span, other)",
    name: "a holder that was overtaken overwrites nothing when it resumes",
  },
  {
    ...folder,
    fault: "a merge forgets what was removed",
    from: "whole.from > 1",
    to: "whole.from < 1",
    name: "a deleted row does not reappear after a merge, or in a process that had it",
  },
  {
    ...folder,
    file: `${node}/messaging/folder-file.ts`,
    fault: "a file's checksum is not compared",
    from: "version !== format || !timingSafeEqual(checksumOf(body), file.subarray(hashAt, bodyAt))",
    to: "version !== format || !timingSafeEqual(checksumOf(body), checksumOf(body))",
    name: "a changed byte",
  },
  {
    fault: "a record of another moment is taken",
    file: `${core}/effects/load.ts`,
    from: "if (!isOld) throw",
    to: "if (!isOld && found.generation === generation) throw",
    test: state,
    name: "a quarantined conversation does not become active with an earlier record",
  },
  {
    fault: "a record that names no generation is an earlier version's for ever",
    file: `${core}/effects/load.ts`,
    from: " && !device.marks.bindsRecords",
    to: "",
    test: state,
    name: "a conversation that waited under an earlier version still waits, and cannot be rolled back to it afterwards",
  },
  {
    fault: "a list of members is sealed for its place alone",
    file: `${core}/effects/conversation-rows.ts`,
    from: "...named.members, generation }",
    to: "...named.members, generation: generation * 0n }",
    test: state,
    name: "a rolled back list of members is detected when conversations are listed",
  },
  {
    fault: "what waits is sealed for its place alone",
    file: `${core}/store/sealed-rows.ts`,
    from: "generation === 0n ?",
    to: "generation >= 0n ?",
    test: `${core}/state/pending-rows.test.ts`,
    name: "a pending row with an older value is refused",
    row: "with an older value",
  },
  {
    fault: "the tab that comes last keeps its issuer keys",
    file: `${core}/device/device-record.ts`,
    from: "versionOf(issuerKeySet) > versionOf(before.issuerKeySet)",
    to: "versionOf(issuerKeySet) !== versionOf(before.issuerKeySet)",
    test: `${core}/device/device.test.ts`,
    name: "of the key sets that tabs store, with an older one last, the newest is kept",
    row: "with an older one last",
  },
  {
    fault: "a hint opens a door, whatever it names",
    file: `${core}/sync/stream.ts`,
    from: "      if (!(await context.has(conversationId))) return\n      const conversation = context.conversation(conversationId)\n      const { processedSeq }",
    to: "      const conversation = context.conversation(conversationId)\n      const { processedSeq }",
    test: answers,
    name: "hints about unknown conversations are ignored, and malformed ones are refused",
  },
  {
    fault: "a conversation is closed on the service's word alone",
    file: `${core}/conversation/recovery.ts`,
    from: "if (isClosed && isAlone) return",
    to: "if (isClosed) return",
    test: answers,
    name: "a report of the service alone does not close a conversation with other members",
  },
  {
    fault: "secrets stay in memory when a messenger is closed",
    file: `${core}/create-messenger.ts`,
    from: "    await context.wipeAll()\n",
    to: "",
    test: state,
    name: "after close no secret of a conversation or device is in memory",
    row: "no secret of a conversation or device is in memory",
  },
  {
    fault: "a sync passes over what is new",
    file: `${core}/sync/sync.ts`,
    from: "shown.headSeq === processedSeq && shown.epoch === epoch",
    to: "shown.epoch === epoch",
    test: envelopes,
    name: "a sync opens the states of conversations with news only",
  },
  {
    fault: "who holds keys never hears of newer ones",
    file: "clients/core/held-keys.ts",
    from: "if (!isMissing) throw error",
    to: "if (!isMissing || found !== undefined) throw error",
    test: `${node}/secret-box/kept-box.test.ts`,
    name: "a held scope opens bytes that another process sealed with a newer key",
  },
  {
    fault: "Windows wraps keys for no scope",
    file: `${node}/secret-box/dpapi.ts`,
    from: '.digest("base64")',
    to: '.digest("base64").slice(44)',
    test: `${node}/secret-box/dpapi.test.ts`,
    name: "a changed file, or one of another scope, is detected and not changed",
  },
]
