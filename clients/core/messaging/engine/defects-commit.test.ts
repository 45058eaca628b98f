import { createCommit } from "ts-mls/createCommit.js"
import { generateKeyPackage } from "ts-mls/keyPackage.js"
import { encodeMlsMessage } from "ts-mls/message.js"
import { processPublicMessage } from "ts-mls/processMessages.js"
import type { Proposal } from "ts-mls/proposal.js"
import { emptyPskIndex } from "ts-mls/pskIndex.js"
import { expect, test } from "vitest"
import { isLong } from "../../../../test/support/effort.ts"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { utf8 } from "../crypto/bytes.ts"
import { type CommitChange, uncheckedEngine } from "../mls.ts"
import { bareCapabilities, bareSeat, bareSuite, decoded } from "../testing/bare-seat.ts"
import { refusal, roomOf } from "../testing/cast.ts"
import { type Forgery, forgeCommit } from "../testing/forge.ts"
import { lifetime, ourSeat, text, today } from "../testing/our-seat.ts"
import { openRoom, type Seat } from "../testing/seat.ts"
import { readKeyPackage } from "./key-package.ts"
import { epochSecretList, opened } from "./state.ts"
import { leafAt } from "./tree.ts"

const suite = makeNodeSuite()
const aad = utf8("")
const accept = () => "accept" as const

/** Returns B's reaction to a commit that A forged. */
async function answerTo(forgery: (room: Awaited<ReturnType<typeof roomOf>>) => Promise<Forgery> | Forgery) {
  const cast = await roomOf(suite, "A", "B", "C")
  const [a, b] = [cast.seat("A"), cast.seat("B")]
  const commit = await forgeCommit(suite, a.current(), await forgery(cast))
  return refusal(b.engine.process(b.current(), commit, accept))
}

const remove = (removed: number): Proposal => ({ proposalType: "remove", remove: { removed } })
const add = async (name: string): Promise<Proposal> => {
  const keyPackage = readKeyPackage(await (await ourSeat(suite, name)).keyPackage())
  return { proposalType: "add", add: { keyPackage } }
}

/** A path that A generated for another commit: well-formed, but invalid here. */
async function somePath({ seat }: Awaited<ReturnType<typeof roomOf>>) {
  const { engine, current } = seat("A")
  const message = decoded((await engine.update(current(), { aad })).commit)
  if (message.wireformat !== "mls_public_message" || message.publicMessage.content.contentType !== "commit") {
    throw new Error("not a commit")
  }
  const { path } = message.publicMessage.content.commit
  if (path === undefined) throw new Error("no path")
  return path
}

test("E1: a removal without a path is refused", async () => {
  expect(await answerTo(() => ({ proposals: [remove(2)] }))).toBe("MLS_BAD_PATH")
})

test("E1: an empty commit without a path is refused", async () => {
  expect(await answerTo(() => ({}))).toBe("MLS_BAD_PATH")
})

test("an empty removal, a repeated one and one of the committer are refused", async () => {
  for (const leaves of [[9], [2, 2], [0]]) {
    const answer = await answerTo(async (cast) => ({ proposals: leaves.map(remove), path: await somePath(cast) }))
    expect(answer, `leaves ${leaves}`).toBe("MLS_BAD_PROPOSALS")
  }
  const { seat } = await roomOf(suite, "A", "B")
  expect(await refusal(seat("A").engine.remove(seat("A").current(), [0], { aad }))).toBe("MLS_BAD_PROPOSALS")
})

test("a commit from a blank leaf, or from another member's leaf, is refused", async () => {
  const inNameOf = (leafIndex: number) =>
    answerTo(async (cast) => ({ path: await somePath(cast), sender: { senderType: "member", leafIndex } }))
  expect([await inNameOf(3), await inNameOf(2)]).toEqual(["MLS_BAD_SENDER", "MLS_BAD_SIGNATURE"])
})

test("E2: our adds carry no path, and adds with one are refused", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const joining = await ourSeat(suite, "C")
  const staged = await seat("A").engine.add(seat("A").current(), [await joining.keyPackage()], { aad })
  const seen = await seat("B").engine.process(seat("B").current(), staged.commit, accept)
  expect(seen.change.path).toBeUndefined()
  const both = await answerTo(async (cast) => ({ proposals: [await add("D")], path: await somePath(cast) }))
  expect(both).toBe("MLS_BAD_PROPOSALS")
})

/** Members A to E: A removes D and adds D2, E updates, and A adds F. */
async function unmergedLeaves(newSeat: (name: string) => Promise<Seat>, last: Seat): Promise<void> {
  const room = await openRoom(await newSeat("A"), utf8("E3"))
  await room.add("A", await Promise.all(["B", "C", "D", "E"].map(newSeat)))
  await room.remove("A", ["D"])
  await room.add("A", [await newSeat("D2")])
  await room.update("E")
  await room.add("A", [last])
  for (const by of room.seats.keys()) await room.say(by, `I am ${by}`)
}

test.runIf(isLong)("E3: the bare engine's join refuses a valid tree that ours accepts", async () => {
  const ours = (name: string) => ourSeat(suite, name)
  await expect(unmergedLeaves(bareSeat, await bareSeat("F"))).rejects.toThrow("unmerged_leaves")
  await unmergedLeaves(bareSeat, await ours("F"))
  await unmergedLeaves(ours, await ours("F"))
})

test("E4: ts-mls cannot apply extensions with a path; our engine refuses to change the group's extensions", async () => {
  const [a, b, c] = [await bareSeat("A"), await bareSeat("B"), await bareSeat("C")]
  const room = await openRoom(a, utf8("E4"))
  await room.add("A", [b, c])
  const change: Proposal = {
    proposalType: "group_context_extensions",
    groupContextExtensions: {
      extensions: [{ extensionType: "application_id", extensionData: utf8("x") }],
    },
  }
  if (a.state === undefined) throw new Error("no state")
  const options = { wireAsPublicMessage: true, extraProposals: [change, remove(2)] }
  const { commit } = await createCommit({ state: a.state, cipherSuite: await bareSuite() }, options)
  await expect(b.process(encodeMlsMessage(commit))).rejects.toThrow("OpenError")
  const ours = await answerTo(async (cast) => ({ proposals: [change], path: await somePath(cast) }))
  expect(ours).toBe("MLS_BAD_PROPOSALS")
})

test("E5: a removed member whose leaf is reused at once detects its removal; one commit never does both", async () => {
  const [a, b, c] = [await bareSeat("A"), await bareSeat("B"), await bareSeat("C")]
  const room = await openRoom(a, utf8("E5"))
  await room.add("A", [b, c])
  if (a.state === undefined) throw new Error("no state")
  const options = { wireAsPublicMessage: true, extraProposals: [remove(2), await addBare("D")] }
  const { commit } = await createCommit({ state: a.state, cipherSuite: await bareSuite() }, options)
  await expect(c.process(encodeMlsMessage(commit))).rejects.toThrow(/overlap|Could not|undefined/)

  const mixed = await answerTo(async (cast) => ({ proposals: [remove(2), await add("D")], path: await somePath(cast) }))
  const pathless = await answerTo(async () => ({ proposals: [remove(2), await add("D")] }))
  expect([mixed, pathless]).toEqual(["MLS_BAD_PROPOSALS", "MLS_BAD_PROPOSALS"])
  const { seat } = await roomOf(suite, "A", "B", "C")
  const staged = await seat("A").engine.remove(seat("A").current(), [2], { aad })
  const processed = await seat("C").engine.process(seat("C").current(), staged.commit, accept)
  expect([processed.kind, processed.change.removesUs]).toEqual(["removed", true])
  processed.finish()
  const { privateKeys, epochSecrets } = opened(seat("C").current())
  const secrets = [...privateKeys.values(), ...epochSecretList(epochSecrets)]
  expect(secrets.every((secret) => secret.every((byte) => byte === 0))).toBe(true)
})

async function addBare(name: string): Promise<Proposal> {
  const message = decoded(await (await bareSeat(name)).keyPackage())
  if (message.wireformat !== "mls_key_package") throw new Error("not a key package")
  return { proposalType: "add", add: { keyPackage: message.keyPackage } }
}

test.each<[string, Proposal]>([
  [
    "a pre-shared key",
    {
      proposalType: "psk",
      psk: { preSharedKeyId: { psktype: "external", pskId: utf8("psk"), pskNonce: new Uint8Array(32) } },
    },
  ],
  [
    "a reinitialization",
    {
      proposalType: "reinit",
      reinit: {
        groupId: utf8("x"),
        version: "mls10",
        cipherSuite: "MLS_128_DHKEMP256_AES128GCM_SHA256_P256",
        extensions: [],
      },
    },
  ],
  ["an external init", { proposalType: "external_init", externalInit: { kemOutput: new Uint8Array(32) } }],
  ["a proposal of an unknown type", { proposalType: 0xf123, proposalData: utf8("x") }],
])("E6: %s is refused from any sender", async (_, proposal) => {
  const answer = await answerTo(async (cast) => ({ proposals: [proposal], path: await somePath(cast) }))
  expect(["MLS_BAD_PROPOSALS", "MLS_MALFORMED"]).toContain(answer)
})

test("a proposal by reference and a proposal outside a commit are refused", async () => {
  const reference = { proposalOrRefType: "reference", reference: new Uint8Array(32) } as const
  const answer = await answerTo(async (cast) => ({ proposals: [reference], path: await somePath(cast) }))
  expect(answer).toBe("MLS_BAD_PROPOSALS")
})

test("E12: a judge that returns a promise, undefined or 'reject' refuses; the bare engine accepts", async () => {
  const [a, b] = [await bareSeat("A"), await bareSeat("B")]
  const room = await openRoom(a, utf8("E12"))
  await room.add("A", [b])
  const message = decoded((await a.update()).commit)
  if (message.wireformat !== "mls_public_message" || b.state === undefined) throw new Error("not a commit")
  const rejects = anything(async () => "reject")
  const epoch = b.state.groupContext.epoch
  const cs = await bareSuite()
  const { newState } = await processPublicMessage(b.state, message.publicMessage, emptyPskIndex, cs, rejects)
  expect(newState.groupContext.epoch).toBe(epoch + 1n)

  const { seat } = await roomOf(suite, "A", "B")
  const staged = await seat("A").engine.update(seat("A").current(), { aad })
  const judges = [() => "reject" as const, rejects, anything(async () => "accept"), anything(() => undefined)]
  for (const judge of judges) {
    const processed = seat("B").engine.process(seat("B").current(), staged.commit, judge)
    expect(await refusal(processed)).toBe("COMMIT_REJECTED")
  }
})

test("a member applies a commit that removes it only if the judge accepts it", async () => {
  const { seat } = await roomOf(suite, "A", "B", "C")
  const [a, c] = [seat("A"), seat("C")]
  const { commit } = await a.engine.remove(a.current(), [2], { aad })
  for (const judge of [() => "reject" as const, anything(async () => "accept"), anything(() => undefined)]) {
    expect(await refusal(c.engine.process(c.current(), commit, judge))).toBe("COMMIT_REJECTED")
  }
  const failing = c.engine.process(c.current(), commit, () => {
    throw new Error("no proof names this removal")
  })
  await expect(failing).rejects.toThrow("no proof names this removal")
  expect((await c.decrypt(await a.encrypt("you are still here"))).text).toBe("you are still here")
})

/** A callback without its type, as JavaScript passes it. */
// biome-ignore lint/suspicious/noExplicitAny: the test passes a value that the types reject
function anything(callback: () => any): any {
  return callback
}

test("E15: external commits are refused, and no external key is published", async () => {
  const outside = await answerTo(async (cast) => ({
    path: await somePath(cast),
    sender: { senderType: "new_member_commit" },
  }))
  expect(outside).toBe("MLS_BAD_SENDER")
  const { seat } = await roomOf(suite, "A", "B")
  const staged = await seat("A").engine.update(seat("A").current(), { aad })
  const message = decoded(staged.groupInfo)
  expect(message.wireformat === "mls_group_info" && message.groupInfo.extensions).toEqual([])
})

test("the judge gets the committer, the old and new leaf, and the added and removed members", async () => {
  const { seat } = await roomOf(suite, "A", "B", "C")
  const [a, b] = [seat("A"), seat("B")]
  const seen: CommitChange[] = []
  const look = (change: CommitChange) => {
    seen.push(change)
    return "accept" as const
  }
  const staged = await a.engine.remove(a.current(), [2], { aad: utf8("proof") })
  await b.engine.process(b.current(), staged.commit, look)
  const [change] = seen
  expect(change?.committer.leaf).toBe(0)
  expect(change?.aad).toEqual(utf8("proof"))
  expect(change?.removed.map((member) => member.credential)).toEqual([utf8("C")])
  const old = leafAt(opened(b.current()).tree, 0)
  expect(change?.path?.before.signatureKey).toEqual(old?.signaturePublicKey)
  expect(change?.path?.after.credential).toEqual(utf8("A"))
  const joining = await ourSeat(suite, "D")
  const keyPackage = await joining.keyPackage()
  const adding = await a.engine.add(a.current(), [keyPackage], { aad })
  const processed = await b.engine.process(b.current(), adding.commit, look)
  expect(processed.change.added.map(({ leaf, credential }) => [leaf, credential])).toEqual([[3, utf8("D")]])
})

test("if the root is not on the path, the bare engine derives one secret too many; ours follows RFC 9420 section 7.4", async () => {
  const [c, d] = [await bareSeat("C"), await ourSeat(suite, "D")]
  const room = await openRoom(await ourSeat(suite, "A"), utf8("half"))
  await room.add("A", [await ourSeat(suite, "B"), c, d])
  // The left half of the tree is now blank, so the path of C ends below the root.
  const removal = await c.remove(["A", "B"])
  expect(await refusal(d.engine.process(d.current(), removal.commit, accept))).toBe("MLS_BAD_CONFIRMATION")
})

test("a second leaf of a device is refused", async () => {
  const answer = await answerTo(async () => ({ proposals: [await add("C")] }))
  expect(answer).toBe("MLS_BAD_PROPOSALS")
})

test("a leaf whose credential names no device is refused", async () => {
  const engine = uncheckedEngine({ suite, nowSeconds: () => today, deviceOf: namesOfDevices })
  const { seat } = await roomOf(suite, "A", "B")
  const keyPackage = await (await ourSeat(suite, "nonsense")).keyPackage()
  const staged = await seat("A").engine.add(seat("A").current(), [keyPackage], { aad })
  expect(await refusal(engine.process(seat("B").current(), staged.commit, accept))).toBe("MLS_BAD_LEAF")
})

function namesOfDevices(credential: Uint8Array): string {
  const name = text(credential)
  if (name === "nonsense") throw new RangeError("not a credential")
  return name
}

test("E7: only basic credentials are accepted", async () => {
  const cs = await bareSuite()
  const span = { notBefore: BigInt(lifetime.notBefore), notAfter: BigInt(lifetime.notAfter) }
  const x509 = { credentialType: "x509" as const, certificates: [utf8("certificate")] }
  const capabilities = { ...bareCapabilities, credentials: ["basic" as const, "x509" as const] }
  const { publicPackage } = await generateKeyPackage(x509, capabilities, span, [], cs)
  const keyPackage = encodeMlsMessage({ version: "mls10", wireformat: "mls_key_package", keyPackage: publicPackage })
  const { seat } = await roomOf(suite, "A", "B")
  const adding = seat("A").engine.add(seat("A").current(), [keyPackage], { aad })
  expect(await refusal(adding)).toBe("MLS_BAD_LEAF")
  const forged = await answerTo(() => ({
    proposals: [{ proposalType: "add", add: { keyPackage: publicPackage } }],
  }))
  expect(forged).toBe("MLS_BAD_LEAF")
  // Credential type 0xF000 instead of basic: a custom type, which does not decode.
  const custom = Uint8Array.from(await (await ourSeat(suite, "D")).keyPackage())
  const at = Buffer.from(custom).indexOf(Buffer.from([0, 1, 1, 0x44]))
  custom.set([0xf0, 0], at)
  expect(at).toBeGreaterThan(0)
  const adding2 = seat("A").engine.add(seat("A").current(), [custom], { aad })
  expect(await refusal(adding2)).toBe("MLS_MALFORMED")
})
