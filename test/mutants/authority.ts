import type { Mutant } from "./mutant.ts"

const authority = "server/rpc/authority"
const attacks = "test/attack/messaging-backends.test.ts"
const sessions = "test/attack/messaging-backends-sessions.test.ts"

/** Faults in what a messaging backend elsewhere gets signed, ended and written down. */
export const authorityMutants: readonly Mutant[] = [
  {
    fault: "a backend serves every place",
    file: `${authority}/backend.ts`,
    from: 'if (!serves(await backendOf(deps, context), place)) throw notTheCallers("place")',
    to: "await backendOf(deps, context)",
    test: sessions,
    name: "of another app are none",
  },
  {
    fault: "whoever calls gets a credential for anybody",
    file: `${authority}/sign.ts`,
    from: '  if (caller.userId !== userId) throw notTheCallers("user_id")',
    to: "",
    test: attacks,
    name: "is not signed for another user",
    row: "another user",
  },
  {
    fault: "a program acts as a caller",
    file: `${authority}/caller.ts`,
    from: 'if (sessionId === null || context.method !== "USER_SESSION") throw refusedCaller("PRINCIPAL_KIND_NOT_ALLOWED")',
    to: "if (sessionId === null) return { userId: principal.id, sessionId: principal.id as never, deviceId, permVer }",
    test: attacks,
    name: "is not signed for a caller's token that came of a personal access token, and neither is anything else",
    row: "that came of a personal access token",
  },
  {
    fault: "a token names a device for as long as it lives",
    file: `${authority}/caller.ts`,
    from: "if (deviceId === null || session?.boundDeviceId !== deviceId) throw",
    to: "if (deviceId === null || session === undefined) throw",
    test: attacks,
    name: "is not signed for a device that the session has not",
    row: "a device that the session has not",
  },
  {
    fault: "a paper is for whoever shows it",
    file: `${authority}/papers.ts`,
    from: "    equalBytes(body.deviceId, idBytes(deviceId))\n",
    to: "    idBytes(deviceId).length === 16\n",
    test: attacks,
    name: "is not signed for a device of the caller's other session",
    row: "a device of the caller's other session",
  },
  {
    fault: "devices of the living end without them",
    file: `${authority}/sign.ts`,
    from: 'if (gone.length === 0 || activeEntries > 0) throw notTheCallers("user_id")',
    to: 'if (activeEntries > 0) throw notTheCallers("user_id")',
    test: attacks,
    name: "of who is gone says nothing but that the devices are",
  },
  {
    fault: "sessions end by whatever list",
    file: `${authority}/sessions.ts`,
    from: "if (revoked.some((id) => statusIn(list, id) !== DeviceStatus.REVOKED)) throw",
    to: "if (revoked.some((id) => statusIn(list, id) === undefined)) throw",
    test: sessions,
    name: "do not change but by a list that says so",
  },
  {
    fault: "a list ends the sessions of everybody whom it names",
    file: "server/store/postgres/session-endings.ts",
    from: 'return endWhere(db, [only("principal_id", principalId), ...at, bound, others], reason, nowMs)',
    to: "return endWhere(db, [...at, bound, others], reason, nowMs)",
    test: sessions,
    name: "of others do not end by a list that names their devices",
  },
  {
    fault: "a backend asks for as much as it likes",
    file: `${authority}/authority-service.ts`,
    from: "      await countBackend(deps, context)\n",
    to: "",
    test: sessions,
    name: "is refused: what is asked in one person's name, and then everything",
  },
  {
    fault: "a backend has as much signed in somebody's name as it likes",
    file: `${authority}/caller.ts`,
    from: "  await countUser(deps, handler, caller.userId)\n",
    to: "",
    test: sessions,
    name: "is refused: what is asked in one person's name, and then everything",
  },
  {
    fault: "a backend writes down what it likes",
    file: "server/kernel/messaging/backend.ts",
    from: '  if (!backendKinds.has(kind)) return "kind"\n',
    to: "",
    test: "server/kernel/messaging/backend.test.ts",
    name: "of another area is not",
    row: "of another area is not",
  },
]
