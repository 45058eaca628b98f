import type { Mutant } from "./mutant.ts"

const backup = "clients/core/messaging/backup"
const format = `${backup}/format.test.ts`
const key = `${backup}/recovery-key.test.ts`
const story = "test/story/messenger-backup.test.ts"

/** Hand-written mutants of encrypted backups, each with the test that detects it. */
export const messengerBackupMutants: readonly Mutant[] = [
  {
    fault: "the header of a backup is not authenticated",
    file: `${backup}/chunks.ts`,
    from: "new Uint8Array(concat(headerHash, previous))",
    to: "new Uint8Array(previous)",
    test: format,
    name: "a header that was rewritten for another user does not open",
  },
  {
    fault: "the chunks of a backup have one key",
    file: `${backup}/chunks.ts`,
    from: "setBigUint64(0, sequence)",
    to: "setBigUint64(0, 0n * sequence)",
    test: format,
    name: "the bytes equal an independent implementation of the documented format",
  },
  {
    fault: "a backup without its last chunk is restored as a whole one",
    file: `${backup}/open.ts`,
    from: "      yield content\n    }\n    throw incomplete()",
    to: "      yield content\n    }",
    test: format,
    name: "a backup without the last chunk is refused",
    row: '["without the last chunk", [summary, one, two]',
  },
  {
    fault: "data after the last chunk of a backup is ignored",
    file: `${backup}/open.ts`,
    from: "if (!(await read()).done)",
    to: "if ((await read()).value === null)",
    test: format,
    name: "a backup with a chunk after the last one is refused",
    row: '["with a chunk after the last one"',
  },
  {
    fault: "an attacker weakens the derivation of a passphrase",
    file: `${backup}/header.ts`,
    from: "if (header.passphrase !== undefined) checkDerivation(header.passphrase)",
    to: "if (header.passphrase?.salt.length === 0) checkDerivation(header.passphrase)",
    test: format,
    name: "a header with one pass is refused",
    row: '["one pass", {',
  },
  {
    fault: "the checksum of a recovery key is not compared",
    file: `${backup}/recovery-key.ts`,
    from: "if (!equalBytes(checksumOf(key), bytes.subarray(recoveryKeyBytes)))",
    to: "if (key.length === 0)",
    test: key,
    name: "each mistyped character and each transposition is detected",
  },
  {
    fault: "a device restores an older stored backup than one that it knows",
    file: `${backup}/newest-sequence.ts`,
    from: "if (sequence === 0n || sequence >= (await newestSequence(context))) return",
    to: "if (sequence >= 0n) return",
    test: story,
    name: "a newer backup replaces the stored one, and a device refuses an older one than it knows",
  },
  {
    fault: "an import replaces the device's own entries",
    file: `${backup}/import-history.ts`,
    from: "return rows.filter((_, i) => values[i] === undefined)",
    to: "return rows.filter((_, i) => values[i] !== null)",
    test: story,
    name: "a repeated restore changes nothing, and an interrupted one is completed",
  },
  {
    fault: "an import adds entries of the log that the device has not read yet",
    file: `${backup}/import-history.ts`,
    from: "seq > record.joinedSeq) return []",
    to: "seq < 0n) return []",
    test: story,
    name: "an entry after the position at which a device joined comes from the log",
  },
  {
    fault: "a backup writes into any space of the store",
    file: `${backup}/import-history.ts`,
    from: '|| !isId("cnv", found.conversationId)',
    to: "",
    test: story,
    name: "a backup that names another space than a conversation writes nothing",
  },
  {
    fault: "a comparison in a backup is revived, although the keys have changed",
    file: `${backup}/import-comparisons.ts`,
    from: "wasVerified && isEqual ? Status.VERIFIED : Status.CHANGED",
    to: "isEqual || wasVerified ? Status.VERIFIED : Status.CHANGED",
    test: story,
    name: "a comparison counts only if today's keys are the compared ones",
  },
]
