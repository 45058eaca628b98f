// Mutants of moving a place to another backend, each with the test that detects it.
import type { Mutant } from "./mutant.ts"

const tables = "server/store/postgres/messaging/moving"
const tests = `${tables}/moving.test.ts`

export const movingMutants: readonly Mutant[] = [
  {
    fault: "a write that waited goes into a place that was held meanwhile",
    file: `${tables}/gates.ts`,
    from: " and gate.is_open",
    to: "",
    test: tests,
    name: "waits for a write in progress, and refuses writes that waited",
  },
  {
    fault: "an import takes over what is another place's",
    file: `${tables}/import.ts`,
    from: "if (row?.count !== distinct.length) throw invalid()",
    to: "",
    test: tests,
    name: "and another place is unchanged",
  },
  {
    fault: "a place is opened by whoever asks",
    file: "server/kernel/messaging/moving.ts",
    from: 'return state === "RECEIVING" && isOurs ? go("OPEN") : refuse',
    to: 'return go("OPEN")',
    test: tests,
    name: "steps are idempotent, and refused for another transfer",
  },
  {
    fault: "a source that has FINISHed opens again",
    file: "server/kernel/messaging/moving.ts",
    from: 'if ((state === "HOLDING" || state === "HELD") && isOurs) return { is: "go", to: "OPEN", transferId: null }',
    to: 'if ((state === "HOLDING" || state === "HELD" || state === "GIVEN") && isOurs) return { is: "go", to: "OPEN", transferId: null }',
    test: tests,
    name: "a place is exported in pages of any size, and the import is equal",
  },
  {
    fault: "what objects refuse while they are held is a fault to who calls",
    file: "server/store/durable/asking.ts",
    from: "if (isHeldFault(fault)) throw placeHeld()",
    to: "",
    test: "server/store/durable/moving/moving.test.ts",
    name: "objects of a held place refuse every write",
    table: "server/store/durable/moving/moving.test.ts",
  },
  {
    fault: "an app's mover moves another app",
    file: "server/rpc/transfer/transfer-service.ts",
    from: 'if (caller.appId !== appId) throw new Refused("APP_MISMATCH")',
    to: "",
    test: "test/attack/moving.test.ts",
    name: "a service without the scope, of another app, or of one tenant may not transfer",
  },
  {
    fault: "a gap in a log is copied",
    file: "server/node/admin/moving/heads.ts",
    from: "if (seq !== log.nextSeq)",
    to: "if (false as boolean)",
    test: "server/node/admin/moving/heads.test.ts",
    name: "a log with a gap",
  },
]
