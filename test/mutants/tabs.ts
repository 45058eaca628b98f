import type { Mutant } from "./mutant.ts"

const storedState = "clients/core/messaging/effects/stored-state.ts"
const reporter = "clients/core/messaging/state/reporter.ts"
const tabs = "test/story/messenger-tabs.test.ts"
const theirs = "clients/core/messaging/signed-in"

/** Mutants of the state that tabs, sign-ins and native code share with a messenger, except code that runs in a page. */
export const tabMutants: readonly Mutant[] = [
  {
    fault: "what does not fit old state is refused",
    file: storedState,
    from: "(await generationNow()) !== generation,",
    to: "(await generationNow()) === undefined,",
    test: tabs,
    name: "an envelope that conflicts with another tab's change",
  },
  {
    fault: "a store that fails is taken for one that nobody else has written",
    file: storedState,
    from: "(await generationNow()) !== generation,",
    to: "(await generationNow().catch(() => generation)) !== generation,",
    test: "clients/core/messaging/effects/stored-state.test.ts",
    name: "a store failure after an overtaken read is reported as such, and not as tampering",
  },
  {
    fault: "what another tab took in is told nowhere else",
    file: reporter,
    from: 'emit({ is: "entry", conversationId, entry })',
    to: "",
    test: tabs,
    name: "an entry that one tab applies is reported by the other too",
  },
  {
    fault: "what this tab took in it tells again",
    file: reporter,
    from: "reported = { seq: laterOf(reported?.seq, after.local?.processedSeq ?? lastSeqIn(ops)), status }",
    to: "reported = { seq: reported?.seq, status }",
    test: tabs,
    name: "an entry that one tab applies is reported by the other too",
  },
  {
    fault: "a tab signs with a key that another one has replaced",
    file: "clients/core/messaging/open.ts",
    from: "if (space === deviceSpace) return device.reload()",
    to: "if (space === deviceSpace) return",
    test: tabs,
    name: "a tab continues with the key that another one renewed",
  },
  {
    fault: "a messenger calls with the token of whoever signed in next",
    file: `${theirs}.ts`,
    from: "if (!isTheirs)",
    to: "if (isTheirs === undefined)",
    test: `${theirs}.test.ts`,
    name: "a messenger gets no token after a change: another person signed in",
    row: "another person signed in",
  },
]
