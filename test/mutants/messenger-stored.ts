import type { Mutant } from "./mutant.ts"

const client = "clients/core/messaging"
const state = "test/story/messenger-state.test.ts"
const flips = "test/attack/messenger-flipped-bytes.test.ts"
const snapshot = { file: `${client}/state/snapshot.ts`, test: `${client}/state/snapshot.test.ts` }

/** Mutants of the stored state of the messaging client, each with the test that detects it. */
export const messengerStoredMutants: readonly Mutant[] = [
  {
    fault: "a header that does not decode is thrown as it came",
    file: `${client}/store/store-header.ts`,
    from: 'throw tampered("it does not decode", cause)',
    to: "throw cause",
    test: flips,
    name: "a flipped byte in a stored row of any kind is a typed error, or changes nothing",
  },
  {
    fault: "the issuer in the header is not compared with the credential",
    file: `${client}/open.ts`,
    from: "if (device.id !== undefined) checkIssuer",
    to: 'if (device.id === "") checkIssuer',
    test: flips,
    name: "a flipped byte in a stored row of any kind is a typed error, or changes nothing",
  },
  {
    fault: "a header has fields that nobody knows",
    file: `${client}/store/store-header.ts`,
    from: "if (header.$unknown !== undefined) throw",
    to: "if (header.storeId === undefined) throw",
    test: `${client}/open.test.ts`,
    name: "a store with an unknown header field does not open",
  },
  {
    fault: "an own message that is not known is passed over",
    file: `${client}/conversation/envelope.ts`,
    from: 'reason === "OWN_UNKNOWN"',
    to: 'reason === ""',
    test: state,
    name: "that it had sent from, sends nothing",
    row: "that it had sent from",
  },
  {
    fault: "the service's cursor is not looked at",
    file: `${client}/conversation/recovery.ts`,
    from: "(cursor?.processedSeq ?? 0n) > local.processedSeq",
    to: "(cursor?.processedSeq ?? 0n) < 0n",
    test: state,
    name: "that it had read beyond, sends nothing",
    row: "that it had read beyond",
  },
  {
    fault: "a store opens for whoever comes",
    file: `${client}/store/store-header.ts`,
    from: "if (!isTheirs)",
    to: "if (header.storeId.length === 0)",
    test: state,
    name: "a store opens for its user and its box, and for no other",
  },
  {
    fault: "a state is not bound to its device",
    ...snapshot,
    from: "deviceId} ",
    to: "userId} ",
    name: "a snapshot of another device does not open",
    row: '["device", {',
  },
  {
    fault: "a later version's state is read as this one's",
    ...snapshot,
    from: "if (envelope.formatVersion > currentFormat)",
    to: "if (envelope.formatVersion < 1)",
    name: "a snapshot of a later version is STATE_NEWER_VERSION",
  },
]
