import type { Mutant } from "./mutant.ts"

const authz = "server/kernel/authz"
const versions = { file: `${authz}/versions.ts`, test: `${authz}/versions.test.ts` }
const changes = { file: `${authz}/authority-change.ts`, test: `${authz}/authority-change.test.ts` }
const snapshots = {
  file: `${authz}/snapshot.ts`,
  test: "server/guard/permissions/snapshots.test.ts",
  name: "an answer is rejected",
}
const guard = { file: "server/guard/guard.ts", test: "server/guard/permissions/snapshots.test.ts" }
const kept = { file: "server/guard/permissions/snapshots.ts", test: "server/guard/permissions/snapshots.test.ts" }

/** Mutants of the permission versions and of the verification of grants. */
export const permissionMutants: readonly Mutant[] = [
  {
    fault: "a minimum is of the sum",
    from: "held.principal >= minimum.principal && held.policy >= minimum.policy",
    to: "held.principal + held.policy >= minimum.principal + minimum.policy",
    name: "with a sum that is higher",
    ...versions,
  },
  {
    fault: "a part that is not told is believed to be nothing",
    from: "pol_ver === undefined || pol_ver > perm_ver",
    to: "pol_ver !== undefined && pol_ver > perm_ver",
    name: "of a sum whose part",
    ...versions,
  },
  {
    fault: "a stale token is taken",
    file: `${authz}/liveness.ts`,
    from: 'isOutdated(context.versions, facts.minimum) ? "PERMISSIONS_STALE" : undefined',
    to: "undefined",
    test: "server/guard/vectors/decisions.test.ts",
    name: "decides every case as in the table",
  },
  {
    fault: "who is removed keeps what tokens say",
    from: 'before?.status === "ACTIVE" && !isActive',
    to: 'before?.status === "ACTIVE" && after.status === "SUSPENDED"',
    name: "who is removed has less",
    ...changes,
  },
  {
    fault: "a change that gives and takes only gives",
    from: 'if (before.some((one) => !holds.has(one))) return "narrower"',
    to: 'if (before.every((one) => !holds.has(one))) return "narrower"',
    name: "is less",
    ...changes,
  },
  {
    fault: "a grant whose place is not understood is everywhere",
    from: "return value === undefined ? null : parse(value)",
    to: "return value === undefined ? null : (parse(value) ?? null)",
    row: "with a grant whose place is not understood",
    ...snapshots,
  },
  {
    fault: "an issuer that does not answer lets in by scopes",
    from: 'if (typeof snapshot === "string") return { caller: snapshot, snapshot: null }',
    to: 'if (typeof snapshot === "string") return { caller, snapshot: null }',
    name: "grants nothing, and the next call requests it again",
    ...guard,
  },
  {
    fault: "a snapshot outlives the key that signed it",
    from: 'typeof (await statementKeys.find(known.kid)) === "string"',
    to: "false",
    name: "is dropped with the key that signed it",
    ...kept,
  },
  {
    fault: "what a revoked key signed is granted",
    from: "revocations?.withoutRevoked(options.statementKeys) ?? options.statementKeys",
    to: "revocations === undefined ? options.statementKeys : options.statementKeys",
    name: "a revoked statement key invalidates its snapshots",
    ...kept,
  },
]
