import type { Mutant } from "./mutant.ts"

const history = "clients/core/messaging/history"
const story = "test/story/messenger-history.test.ts"
const grants = "a grant opens only as the scanned device made it, for this request"
const requests = "only a fresh request of an own device in the signed list is shown, and it is granted once"
const hostile = "chunks that the service swaps, truncates, replays or withholds add no false entry"

/** Hand-written mutants of the transfer of history, each with the test that detects it. */
export const messengerHistoryMutants: readonly Mutant[] = [
  {
    fault: "a grant needs no MAC under the secret of the QR code",
    file: `${history}/signed.ts`,
    from: "const isMade = secret === undefined ||",
    to: "const isMade = secret !== null ||",
    test: story,
    name: grants,
  },
  {
    fault: "any device of the user grants in place of the compared one",
    file: `${history}/signed.ts`,
    from: "if (secret === undefined && from.deviceId !== open.fromDeviceId)",
    to: "if (secret === null)",
    test: story,
    name: grants,
  },
  {
    fault: "a grant of another request is accepted",
    file: `${history}/signed.ts`,
    from: "if (!equalBytes(grant.requestHash, requestHash))",
    to: "if (grant.requestHash.length === 0)",
    test: story,
    name: grants,
  },
  {
    fault: "the signature of a request is not verified",
    file: `${history}/signed.ts`,
    from: "if (!context.verify(from.key, inputOf(requestLabel, body), signature))",
    to: "if (signature.length === 0)",
    test: story,
    name: requests,
  },
  {
    fault: "a request is granted after its 10 minutes",
    file: `${history}/signed.ts`,
    from: "if (now >= request.issuedAt + requestSeconds)",
    to: "if (now < 0n)",
    test: story,
    name: requests,
  },
  {
    fault: "the scanned fingerprint is not compared",
    file: `${history}/transfer.ts`,
    from: "if (!equalBytes(fingerprintOf(context, verified.from), deviceFingerprint))",
    to: "if (deviceFingerprint.length === 0)",
    test: story,
    name: requests,
  },
  {
    fault: "digits replace the scan of a device that shows a QR code",
    file: `${history}/transfer.ts`,
    from: "if (isByQr(verified)) throw",
    to: "if (verified === undefined) throw",
    test: story,
    name: requests,
  },
  {
    fault: "a transfer that the service cuts waits instead of failing",
    file: `${history}/receive.ts`,
    from: "if (archive.status === Status.COMPLETE) throw",
    to: "if (archive.status === Status.REQUESTED) throw",
    test: story,
    name: hostile,
  },
  {
    fault: "history is sent to a device that was revoked",
    file: `${history}/send.ts`,
    from: "if (isActive) continue",
    to: 'if (isActive || id !== "") continue',
    test: story,
    name: "no chunk is sent to a revoked device, and a deleted request is reported",
  },
  {
    fault: "a sender accepts an earlier device list, in which the revoked device is active",
    file: `${history}/own-keys.ts`,
    from: "if (head !== undefined) await rememberList(context, userId, head)",
    to: "if (head === null) await rememberList(context, userId, head)",
    test: story,
    name: "a device that is revoked during a transfer gets no more chunks, also with an earlier list from the service",
  },
  {
    fault: "the chunks of a transfer have no random salt in their keys",
    file: "clients/core/messaging/backup/chunks.ts",
    from: "concat(utf8(label), place, salt)",
    to: "concat(utf8(label), place, salt.subarray(salt.length))",
    test: "clients/core/messaging/backup/format.test.ts",
    name: "two chunks of a transfer at one position have two keys",
  },
]
