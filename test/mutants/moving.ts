// Mutants of moving a place to another backend, each with the test that detects it.
import type { Mutant } from "./mutant.ts"

const tables = "server/store/postgres/messaging/moving"
const tests = `${tables}/moving.test.ts`
const holds = `${tables}/holds.test.ts`

export const movingMutants: readonly Mutant[] = [
  {
    fault: "a write that waited goes into a place that was held meanwhile",
    file: `${tables}/gates.ts`,
    from: " and gate.is_open",
    to: "",
    test: holds,
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
  {
    fault: "attachments of every place are found in each",
    file: "server/store/durable/moving/export.ts",
    from: "return of?.appId === place.appId && of.tenantId === place.tenantId",
    to: "return of !== undefined",
    test: "server/store/durable/moving/moving.test.ts",
    name: "attachments are found in their own place only",
  },
  {
    fault: "attachments of an app's every tenant are found in each",
    file: "server/store/durable/moving/export.ts",
    from: "of?.appId === place.appId && of.tenantId === place.tenantId",
    to: "of?.appId === place.appId",
    test: "server/store/durable/moving/moving.test.ts",
    name: "attachments are found in their own place only",
  },
  {
    fault: "an object is erased with what it has not delivered",
    file: "server/store/durable/object.ts",
    from: 'if (this.sql.row("select 1 from outbox limit 1") !== undefined) return false',
    to: "",
    test: "server/store/durable/objects.test.ts",
    name: "is not erased before its entries are delivered, once each",
  },
  {
    fault: "a place is erased although an object keeps its events",
    file: "server/store/durable/moving/erase.ts",
    from: "if (!(await ask(erase)))\n",
    to: "if ((await ask(erase)) === undefined)\n",
    test: "server/store/durable/moving/moving.test.ts",
    name: "a place is not erased while its objects have undelivered audit events",
  },
  {
    fault: "transfers are open to the auth service's audience",
    file: "server/node/app.ts",
    from: "(messaging|transfer)",
    to: "(messaging)",
    test: "test/attack/moving.test.ts",
    name: "a token of the auth service's audience may not transfer where messaging has its own",
  },
]
