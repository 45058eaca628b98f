import * as rc from "ts-mls-2"
import { expect, test } from "vitest"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { refusal, roomOf } from "../testing/cast.ts"
import { testKit } from "../testing/forge.ts"
import { processCommit } from "./process.ts"
import { closed, opened } from "./state.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const suite = makeNodeSuite()

/** Three members on ts-mls 2.0.0-rc.10; A founded the group. */
async function releaseCandidate() {
  const cipherSuite = await rc.getCiphersuiteImpl("MLS_128_DHKEMX25519_AES128GCM_SHA256_Ed25519")
  const context: rc.MlsContext = { cipherSuite, authService: rc.unsafeTestingAuthenticationService }
  const client = (name: string) =>
    rc.generateKeyPackage({
      credential: { credentialType: rc.defaultCredentialTypes.basic, identity: bytes(name) },
      cipherSuite,
    })
  const [a, b, c] = [await client("A"), await client("B"), await client("C")]
  const group = { keyPackage: a.publicPackage, privateKeyPackage: a.privatePackage, groupId: bytes("group") }
  let stateA = await rc.createGroup({ context, ...group })
  const add = (keyPackage: rc.KeyPackage): rc.Proposal => ({
    proposalType: rc.defaultProposalTypes.add,
    add: { keyPackage },
  })
  const added = await rc.createCommit({
    context,
    state: stateA,
    extraProposals: [add(b.publicPackage), add(c.publicPackage)],
    ratchetTreeExtension: true,
  })
  stateA = added.newState
  const { welcome } = added
  if (welcome === undefined) throw new Error("no welcome")
  const join = ({ publicPackage, privatePackage }: typeof b) =>
    rc.joinGroup({ context, welcome: welcome.welcome, keyPackage: publicPackage, privateKeys: privatePackage })
  return { context, stateA, stateC: await join(c) }
}

/** The attack of a removed member: it processes its own removal as if it were at the leaf of a remaining member. */
test("E1: with 2.0.0-rc.10, a member that was removed without a path still decrypts later messages", async () => {
  const { context, stateA, stateC } = await releaseCandidate()
  const removal: rc.Proposal = { proposalType: rc.defaultProposalTypes.remove, remove: { removed: 2 } }
  const removed = await rc.createCommit({
    context,
    state: stateA,
    extraProposals: [removal],
    wireAsPublicMessage: true,
  })
  const pretending = { ...stateC, privatePath: { ...stateC.privatePath, leafIndex: 1 } }
  const followed = await rc.processMessage({
    context,
    state: pretending,
    message: removed.commit,
    callback: rc.acceptAll,
  })
  const secret = await rc.createApplicationMessage({
    context,
    state: removed.newState,
    message: bytes("C is gone"),
  })
  const read = await rc.processMessage({ context, state: followed.newState, message: secret.message })
  expect(read.kind === "applicationMessage" && new TextDecoder().decode(read.message)).toBe("C is gone")
})

test("E1: with our engine, a removed member can neither apply the commit nor decrypt later messages", async () => {
  const { room, seat } = await roomOf(suite, "A", "B", "C")
  const before = seat("C").current()
  const staged = await seat("A").engine.remove(seat("A").current(), [2], { aad: bytes("") })
  const pretending = closed({ ...opened(before), ownLeaf: 1 })
  const follow = processCommit(testKit(suite), pretending, staged.commit, () => "accept", testKit(suite).nowSeconds())
  expect(await refusal(follow)).toBe("MLS_BAD_PATH")
  await room.remove("A", ["C"])
  const message = await seat("A").encrypt("C is gone")
  expect(await refusal(seat("C").decrypt(message))).toBe("EPOCH_GAP")
})
