// What keeps core-crypto, as published, out of the conversations of this service. Its engine follows ours in
// openmls.test.ts, and takes part through the service in openmls-member.test.ts, where OpenMLS is called directly.
import { decodeMlsMessage } from "ts-mls/message.js"
import { beforeAll, expect, test } from "vitest"
import { acceptCommit, type CommitOptions } from "../../clients/core/messaging/mls.ts"
import { lifetime, newIdentity, realTime, testEngine } from "../../clients/core/messaging/testing/our-seat.ts"
import { makeNodeSuite } from "../../clients/node/crypto/suite.ts"
import { parseKeyPackage } from "../../server/framing/key-package.ts"
import { clientName, loadOpenMls, openMlsGroupId, openMlsSeat } from "./openmls-seat.ts"

beforeAll(loadOpenMls)

const suite = makeNodeSuite()
const engine = testEngine(suite, realTime)
const utf8 = (text: string) => new TextEncoder().encode(text)
const inWelcome: CommitOptions = { aad: utf8("aad"), treeInWelcome: true }

async function ourGroup(credential: Uint8Array, binding?: Uint8Array) {
  const identity = { ...(await newIdentity(suite, "")), credential }
  return engine.createGroup({ groupId: openMlsGroupId, identity, ...(binding ? { binding } : {}), ...lifetime })
}

test("core-crypto's leaves lack the extension that binds a group to a conversation, so the engine adds none", async () => {
  const keyPackage = await (await openMlsSeat(2)).keyPackage()
  expect(parseKeyPackage(keyPackage).leafNode.capabilities.extensions).toEqual([])
  const bound = await ourGroup(utf8("ann"), new Uint8Array(40))
  await expect(engine.add(bound, [keyPackage], inWelcome)).rejects.toMatchObject({ reason: "MLS_BAD_LEAF" })
})

test("core-crypto's credential is a name that it makes before there is a key that an issuer could sign", async () => {
  const { identity } = parseKeyPackage(await (await openMlsSeat(2)).keyPackage()).leafNode
  expect(new TextDecoder().decode(identity)).toBe(clientName(2))
})

test("core-crypto rejects members whose credential is not such a name", async () => {
  const core = await openMlsSeat(2)
  const staged = await engine.add(await ourGroup(utf8("a signed credential")), [await core.keyPackage()], inWelcome)
  await expect(core.join(staged.welcome ?? new Uint8Array(), undefined)).rejects.toMatchObject({
    inner: { mlsError: { inner: { msg: expect.stringContaining("Supplied client id") } } },
  })
})

test("core-crypto rejects a Welcome without its tree, as our clients send it", async () => {
  const core = await openMlsSeat(2)
  const group = await ourGroup(utf8(clientName(1)))
  const staged = await engine.add(group, [await core.keyPackage()], { aad: utf8("aad") })
  await expect(core.join(staged.welcome ?? new Uint8Array(), undefined)).rejects.toMatchObject({
    inner: { mlsError: { inner: { msg: expect.stringContaining("No ratchet tree") } } },
  })
})

test("core-crypto accepts our authenticated data, and sends none", async () => {
  const core = await openMlsSeat(2)
  const group = await ourGroup(utf8(clientName(1)))
  const staged = await engine.add(group, [await core.keyPackage()], inWelcome)
  await core.join(staged.welcome ?? new Uint8Array(), undefined)
  const { message } = await engine.encrypt(acceptCommit(group, staged), utf8("hello"), utf8("aad"))
  expect(await core.decrypt(message)).toEqual({ text: "hello", sender: clientName(1) })
  const [sent] = decodeMlsMessage(await core.encrypt("back"), 0) ?? []
  const [commit] = decodeMlsMessage((await core.update()).commit, 0) ?? []
  expect(sent).toMatchObject({ privateMessage: { authenticatedData: new Uint8Array() } })
  expect(commit).toMatchObject({ publicMessage: { content: { authenticatedData: new Uint8Array() } } })
})
