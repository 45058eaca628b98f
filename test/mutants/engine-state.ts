import type { Mutant } from "./mutant.ts"

const engine = "clients/core/messaging/engine"

/** Mutants of stored group states. */
export const engineStateMutants: readonly Mutant[] = [
  {
    fault: "the identity key is written down with the state",
    file: `${engine}/codec.ts`,
    from: "...epochSecretList(epochSecrets),",
    to: "...epochSecretList(epochSecrets), opened(state).identityKey,",
    test: "clients/core/messaging/mls.test.ts",
    name: "a state contains no identity key, only a reference that the suite resolves",
  },
  {
    fault: "keys of a state come in any order",
    file: `${engine}/codec.ts`,
    from: "demand(key > previous,",
    to: "demand(true,",
    test: `${engine}/forged-messages.test.ts`,
    name: "an encoded state with repeated or unordered keys or ratchets is refused",
  },
  {
    fault: "ratchets of a state come in any order",
    file: `${engine}/codec.ts`,
    from: "demand(leaf > previous,",
    to: "demand(true,",
    test: `${engine}/forged-messages.test.ts`,
    name: "an encoded state with repeated or unordered keys or ratchets is refused",
  },
]
