// Messages and stored states with one wrong field, and GroupInfos of another state.
import { encodeMlsMessage, type MLSMessage } from "ts-mls/message.js"
import { expect, test } from "vitest"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { utf8 } from "../crypto/bytes.ts"
import { encodeEpoch, encodeSecrets, frameOf, groupInfoFits } from "../mls.ts"
import { decoded } from "../testing/bare-seat.ts"
import { refusal, roomOf } from "../testing/cast.ts"
import { testKit } from "../testing/forge.ts"
import { ourSeat } from "../testing/our-seat.ts"
import { encrypt } from "./message.ts"
import { closed, opened } from "./state.ts"

const suite = makeNodeSuite()
const aad = utf8("")
const accept = () => "accept" as const

/** Changes a message without signing it again. */
const bent = (bytes: Uint8Array, change: (message: MLSMessage) => MLSMessage) =>
  encodeMlsMessage(change(decoded(bytes)))

test("a bare proposal and an encrypted handshake message are refused, as frames and as commits", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const [a, b] = [seat("A"), seat("B")]
  const { commit } = await a.engine.update(a.current(), { aad })
  const { message } = await a.engine.encrypt(a.current(), utf8("hello"), aad)
  const proposal = bent(commit, (whole) => {
    if (whole.wireformat !== "mls_public_message") return expect.fail("not public")
    const { content, auth } = whole.publicMessage
    const { groupId, epoch, sender, authenticatedData } = content
    const removal = { proposalType: "remove" as const, remove: { removed: 1 } }
    return {
      ...whole,
      publicMessage: {
        content: { groupId, epoch, sender, authenticatedData, contentType: "proposal", proposal: removal },
        auth: { contentType: "proposal", signature: auth.signature },
        senderType: "member",
        membershipTag: new Uint8Array(32),
      },
    }
  })
  const handshake = bent(message, (whole) => {
    if (whole.wireformat !== "mls_private_message") return expect.fail("not private")
    return { ...whole, privateMessage: { ...whole.privateMessage, contentType: "commit" } }
  })
  const framing = async (bytes: Uint8Array) => frameOf(bytes)
  expect(await refusal(framing(proposal))).toBe("MLS_WRONG_WIRE_FORMAT")
  expect(await refusal(framing(handshake))).toBe("MLS_WRONG_WIRE_FORMAT")
  expect(await refusal(b.engine.process(b.current(), proposal, accept))).toBe("MLS_BAD_PROPOSALS")
  expect(await refusal(b.engine.decrypt(b.current(), handshake))).toBe("MLS_WRONG_WIRE_FORMAT")
})

test("a message from a blank leaf, or without sender data, does not open", async () => {
  const { seat } = await roomOf(suite, "A", "B", "C")
  const [a, b] = [seat("A"), seat("B")]
  const nobody = closed({ ...opened(a.current()), ownLeaf: 3 })
  const { message } = await encrypt(testKit(suite), nobody, utf8("hello"), aad)
  expect(await refusal(b.engine.decrypt(b.current(), message))).toBe("MLS_BAD_SENDER")
  const cut = bent(await a.encrypt("hello"), (whole) => {
    if (whole.wireformat !== "mls_private_message") return expect.fail("not private")
    const encryptedSenderData = whole.privateMessage.encryptedSenderData.slice(1)
    return { ...whole, privateMessage: { ...whole.privateMessage, encryptedSenderData } }
  })
  expect(await refusal(b.engine.decrypt(b.current(), cut))).toBe("MLS_MALFORMED")
})

test("an own message is not decrypted: an older state does not know it, and the state that made it does", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const { engine, current } = seat("A")
  const { message, next } = await engine.encrypt(current(), utf8("hello"), aad)
  expect(await refusal(engine.decrypt(current(), message))).toBe("OWN_UNKNOWN")
  expect(await refusal(engine.decrypt(next, message))).toBe("OWN_REPLAY")
  expect(await engine.generationOf(next, message)).toBe(0)
})

test("a member that names another's leaf as the sender does not make its state look older", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const [a, b] = [seat("A"), seat("B")]
  const { ownLeaf } = opened(a.current())
  // B has every member's ratchet, and no signature key but its own.
  const asA = closed({ ...opened(b.current()), ownLeaf })
  const { message } = await encrypt(testKit(suite), asA, utf8("hello"), aad)
  expect(await refusal(a.engine.decrypt(a.current(), message))).toBe("MLS_BAD_SIGNATURE")
})

test("a GroupInfo matches a state by its context and its confirmation tag", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const a = seat("A")
  const [one, other] = [await a.engine.update(a.current(), { aad }), await a.engine.update(a.current(), { aad })]
  const infoOf = (bytes: Uint8Array) => {
    const message = decoded(bytes)
    return message.wireformat === "mls_group_info" ? message.groupInfo : expect.fail("no GroupInfo")
  }
  const with_ = (change: object) =>
    bent(one.groupInfo, (whole) =>
      whole.wireformat === "mls_group_info"
        ? { ...whole, groupInfo: { ...whole.groupInfo, ...change } }
        : expect.fail("no GroupInfo"),
    )
  const { confirmationTag, groupContext } = infoOf(other.groupInfo)
  expect(groupInfoFits(one.next, one.groupInfo)).toBe(true)
  expect(groupInfoFits(one.next, with_({ confirmationTag }))).toBe(false)
  expect(groupInfoFits(one.next, with_({ groupContext }))).toBe(false)
})

test("an encoded state with repeated or unordered keys or ratchets is refused", async () => {
  const { room, seat } = await roomOf(suite, "A", "B")
  await room.update("A")
  for (const by of ["A", "B"]) await room.say(by, "so that ratchets are open")
  const { engine, identity, current } = seat("A")
  const [epoch, secrets] = [encodeEpoch(current()), encodeSecrets(current())]
  const { privateKeys, secretTree } = opened(current())
  const at = (secret: Uint8Array | undefined) => Buffer.from(secrets).indexOf(secret ?? expect.fail("no secret"))
  /** Swaps the row that ends with this secret and the one before it. */
  const swapped = (secret: Uint8Array | undefined, width: number) => {
    const second = at(secret) + 32 - width
    const first = second - width
    const rows = [secrets.subarray(second, second + width), secrets.subarray(first, second)]
    return Buffer.concat([secrets.subarray(0, first), ...rows, secrets.subarray(second + width)])
  }
  /** Gives the row that ends with this secret the number of the one before it. */
  const repeated = (secret: Uint8Array | undefined, width: number) => {
    const second = at(secret) + 32 - width
    return Uint8Array.from(secrets, (_, i) => secrets[i >= second && i < second + 4 ? i - width : i] ?? 0)
  }
  const decoding = (bytes: Uint8Array) => refusal(engine.decodeState({ epoch, secrets: bytes }, identity.key))
  expect(await decoding(secrets)).toBe("accepted")
  expect(await decoding(repeated(privateKeys.get(1), 36))).toBe("STATE_TAMPERED")
  expect(await decoding(repeated(secretTree.ratchets.get(1)?.secret, 40))).toBe("STATE_TAMPERED")
  expect(await decoding(swapped(privateKeys.get(1), 36))).toBe("STATE_TAMPERED")
  expect(await decoding(swapped(secretTree.ratchets.get(1)?.secret, 40))).toBe("STATE_TAMPERED")
})

test("stored skipped keys of another number, of a generation to come, or of another version are refused", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const [a, b] = [seat("A"), seat("B")]
  await a.encrypt("skipped")
  await b.decrypt(await a.encrypt("read"))
  const epoch = encodeEpoch(b.current())
  const secrets = encodeSecrets(b.current())
  const decoding = (bytes: Uint8Array) => refusal(b.engine.decodeState({ epoch, secrets: bytes }, b.identity.key))
  // At the end: the count, the leaf, the generation, 16 bytes and 12 bytes.
  const row = 4 + 4 + 16 + 12
  const withU32 = (back: number, value: number) => {
    const bytes = Buffer.from(secrets)
    bytes.writeUInt32BE(value, bytes.length - back)
    return bytes
  }
  expect([secrets[0], await decoding(secrets)]).toEqual([2, "accepted"])
  expect(await decoding(secrets.subarray(0, -1))).toBe("STATE_TAMPERED")
  expect(await decoding(Buffer.concat([secrets, secrets.subarray(-row)]))).toBe("STATE_TAMPERED")
  for (const count of [0, 2, 1_025]) expect(await decoding(withU32(row + 4, count))).toBe("STATE_TAMPERED")
  expect(await decoding(withU32(row - 4, 2))).toBe("STATE_TAMPERED")
  expect(await decoding(withU32(row, 1))).toBe("STATE_TAMPERED")
  expect(await decoding(secrets.with(0, 3))).toBe("STATE_NEWER_VERSION")
  expect(await decoding(secrets.with(0, 1))).toBe("STATE_TAMPERED")
})

test("an empty commit, or one that contradicts its Welcome, cannot be staged", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const { engine, current } = seat("A")
  const keyPackage = await (await ourSeat(suite, "C")).keyPackage()
  expect(await refusal(engine.add(current(), [], { aad }))).toBe("MLS_BAD_PROPOSALS")
  expect(await refusal(engine.remove(current(), [], { aad }))).toBe("MLS_BAD_PROPOSALS")
  const proof = new Uint8Array(1024 * 1024)
  expect(await refusal(engine.add(current(), [keyPackage], { aad, proof }))).toBe("MLS_TOO_LARGE")
})
