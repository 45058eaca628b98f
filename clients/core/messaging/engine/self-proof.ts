import { equal, utf8 } from "../crypto/bytes.ts"
import type { Suite } from "../crypto/suite.ts"
import { acceptCommit, type StagedCommit } from "./commit.ts"
import type { Engine } from "./engine.ts"
import type { Identity } from "./key-package.ts"
import type { Judge } from "./process.ts"
import { MlsError } from "./refusal.ts"
import { type GroupState, opened } from "./state.ts"

const lifetime = { notBefore: 0, notAfter: 86_400 }
const options = { aad: utf8("proof") }
const accept = () => "accept" as const

/**
 * Self-test of an engine, with keys of its own (0.1 to 0.3 s), for the known defects of engines: a removal carries a
 * path and excludes the member (E1); a join accepts a valid tree with unmerged leaves (E3); trailing bytes are refused
 * (E13); a promise is no verdict (E12); a message authenticates its sender (E8).
 *
 * @param engine An engine whose clock stands still on the first day, and whose devices are named by their credentials.
 * @throws MlsError ENGINE_UNSAFE
 */
export async function proveEngine(engine: Engine, suite: Suite): Promise<void> {
  try {
    await proveRemoval(engine, suite)
    await proveUnmergedLeaves(engine, suite)
  } catch (cause) {
    throw new MlsError("ENGINE_UNSAFE", "the engine did not pass its proof", { cause })
  }
}

/** A judge without its type, as JavaScript passes it. */
// biome-ignore lint/suspicious/noExplicitAny: the self-test passes a value that the types reject
function untyped(judge: () => any): Judge {
  return judge
}

function check(condition: boolean, what: string): void {
  if (!condition) throw new Error(what)
}

async function newIdentity(suite: Suite, name: string): Promise<Identity> {
  const { seed, publicKey } = await suite.signatureKeyPair()
  return { credential: utf8(name), signatureKey: publicKey, key: seed }
}

async function start(engine: Engine, suite: Suite): Promise<GroupState> {
  return engine.createGroup({ groupId: utf8("proof"), identity: await newIdentity(suite, "A"), ...lifetime })
}

/** The states of the group's members, by name. */
type Members = Map<string, GroupState>

async function add(engine: Engine, suite: Suite, members: Members, by: string, names: readonly string[]) {
  const identities = await Promise.all(names.map((name) => newIdentity(suite, name)))
  const packages = await Promise.all(identities.map((identity) => engine.newKeyPackage(identity, lifetime)))
  const keyPackages = packages.map((made) => made.keyPackage)
  const staged = await engine.add(member(members, by), keyPackages, options)
  await follow(engine, members, by, staged)
  for (const [i, made] of packages.entries()) {
    const { welcome = new Uint8Array() } = staged
    const identityKey = identities[i]?.key ?? new Uint8Array()
    const { state } = await engine.join({ ...made, welcome, tree: staged.tree(), identityKey })
    members.set(names[i] ?? "", state)
  }
  agree(members)
}

function member(members: Members, name: string): GroupState {
  const state = members.get(name)
  if (state === undefined) throw new Error("not a member")
  return state
}

async function follow(engine: Engine, members: Members, by: string, staged: StagedCommit): Promise<void> {
  for (const [name, state] of members) {
    if (name === by) continue
    const processed = await engine.process(state, staged.commit, accept)
    if (processed.kind === "next") members.set(name, processed.next)
    else members.delete(name)
  }
  members.set(by, acceptCommit(member(members, by), staged))
}

function agree(members: Members): void {
  const [first, ...others] = [...members.values()].map((state) => opened(state).epochSecrets.authenticator)
  check(first !== undefined && others.every((other) => equal(first, other)), "members do not agree on the epoch")
}

async function refuses(attempt: Promise<unknown>, reason: MlsError["reason"]): Promise<void> {
  const refused = await attempt.then(
    () => undefined,
    (error: unknown) => error,
  )
  check(refused instanceof MlsError && refused.reason === reason, `not refused: ${reason}`)
}

async function proveRemoval(engine: Engine, suite: Suite): Promise<void> {
  const members: Members = new Map([["A", await start(engine, suite)]])
  await add(engine, suite, members, "A", ["B", "C"])
  const gone = member(members, "C")
  const staged = await engine.remove(member(members, "A"), [2], options)
  const behind = member(members, "B")
  const trailing = Uint8Array.from([...staged.commit, 0])
  await refuses(engine.process(behind, trailing, accept), "MLS_NON_CANONICAL")
  await refuses(
    engine.process(
      behind,
      staged.commit,
      untyped(async () => "accept"),
    ),
    "COMMIT_REJECTED",
  )
  const seen = await engine.process(behind, staged.commit, accept)
  check(seen.change.path !== undefined, "a removal without a path")
  await follow(engine, members, "A", staged)
  check(!members.has("C"), "a removed member is still there")
  agree(members)
  const { message } = await engine.encrypt(member(members, "A"), utf8("after"), options.aad)
  await refuses(engine.decrypt(gone, message), "EPOCH_GAP")
  const read = await engine.decrypt(member(members, "B"), message)
  check(read.sender.leaf === 0 && equal(read.plaintext, utf8("after")), "a message of another sender")
}

async function proveUnmergedLeaves(engine: Engine, suite: Suite): Promise<void> {
  const members: Members = new Map([["A", await start(engine, suite)]])
  await add(engine, suite, members, "A", ["B", "C", "D", "E"])
  await follow(engine, members, "A", await engine.remove(member(members, "A"), [3], options))
  await add(engine, suite, members, "A", ["D2"])
  await follow(engine, members, "E", await engine.update(member(members, "E"), options))
  await add(engine, suite, members, "A", ["F"])
  check(member(members, "F").epoch === 5n, "the last to join is somewhere else")
}
