import { type ClientState, createGroup, joinGroup } from "ts-mls/clientState.js"
import { createCommit } from "ts-mls/createCommit.js"
import { createApplicationMessage } from "ts-mls/createMessage.js"
import type { CiphersuiteImpl } from "ts-mls/crypto/ciphersuite.js"
import { getCiphersuiteFromName } from "ts-mls/crypto/ciphersuite.js"
import { getCiphersuiteImpl } from "ts-mls/crypto/getCiphersuiteImpl.js"
import { generateKeyPackage } from "ts-mls/keyPackage.js"
import { decodeMlsMessage, encodeMlsMessage, type MLSMessage } from "ts-mls/message.js"
import { decryptSenderData } from "ts-mls/privateMessage.js"
import { processPrivateMessage, processPublicMessage } from "ts-mls/processMessages.js"
import type { Proposal } from "ts-mls/proposal.js"
import { emptyPskIndex } from "ts-mls/pskIndex.js"
import { decodeRatchetTree, encodeRatchetTree } from "ts-mls/ratchetTree.js"
import { hex, utf8 } from "../crypto/bytes.ts"
import { suiteName } from "../engine/kit.ts"
import { lifetime, text } from "./our-seat.ts"
import type { CommitMessages, Seat } from "./seat.ts"

/** The bare engine's own provider for suite 1. */
export function bareSuite(): Promise<CiphersuiteImpl> {
  return getCiphersuiteImpl(getCiphersuiteFromName(suiteName))
}

export const bareCapabilities = {
  versions: ["mls10" as const],
  ciphersuites: [suiteName as typeof suiteName],
  extensions: [],
  proposals: [],
  credentials: ["basic" as const],
}

/** A seat that runs ts-mls 1.6.4 as published, with its own crypto provider, for comparison with our engine. */
interface BareSeat extends Seat {
  state: ClientState | undefined
}

export async function bareSeat(name: string): Promise<BareSeat> {
  const cs = await bareSuite()
  const credential = { credentialType: "basic" as const, identity: utf8(name) }
  let waiting: Awaited<ReturnType<typeof generateKeyPackage>> | undefined
  const now = (seat: BareSeat) => seat.state ?? fail(`${name} is in no group`)

  async function commit(seat: BareSeat, extraProposals: Proposal[]): Promise<CommitMessages> {
    const made = await createCommit(
      { state: now(seat), cipherSuite: cs },
      { wireAsPublicMessage: true, extraProposals },
    )
    seat.state = made.newState
    const { welcome } = made
    return {
      commit: encodeMlsMessage(made.commit),
      welcome: welcome && encodeMlsMessage({ version: "mls10", wireformat: "mls_welcome", welcome }),
      tree: welcome && encodeRatchetTree(made.newState.ratchetTree),
    }
  }

  const nameAt = (seat: BareSeat, leaf: number) => {
    const node = now(seat).ratchetTree[leaf * 2]
    if (node?.nodeType !== "leaf" || node.leaf.credential.credentialType !== "basic") return fail("not a member")
    return text(node.leaf.credential.identity).split("#")[0] ?? ""
  }
  const leavesOf = (seat: BareSeat) =>
    now(seat).ratchetTree.flatMap((node, index) => (node?.nodeType === "leaf" ? [index / 2] : []))

  const seat: BareSeat = {
    name,
    state: undefined,
    async keyPackage() {
      waiting = await generateKeyPackage(credential, bareCapabilities, bareLifetime, [], cs)
      return encodeMlsMessage({ version: "mls10", wireformat: "mls_key_package", keyPackage: waiting.publicPackage })
    },
    async create(groupId) {
      const made = await generateKeyPackage(credential, bareCapabilities, bareLifetime, [], cs)
      seat.state = await createGroup(groupId, made.publicPackage, made.privatePackage, [], cs)
    },
    add: (keyPackages) =>
      commit(
        seat,
        keyPackages.map((bytes) => {
          const message = decoded(bytes)
          if (message.wireformat !== "mls_key_package") return fail("not a key package")
          return { proposalType: "add", add: { keyPackage: message.keyPackage } }
        }),
      ),
    remove: (names) =>
      commit(
        seat,
        names.map((gone) => ({
          proposalType: "remove",
          remove: { removed: leavesOf(seat).find((leaf) => nameAt(seat, leaf) === gone) ?? fail("not a member") },
        })),
      ),
    update: () => commit(seat, []),
    async join(welcome, tree) {
      const message = decoded(welcome)
      if (message.wireformat !== "mls_welcome" || waiting === undefined) return fail("not a welcome")
      const nodes = tree && decodeRatchetTree(tree, 0)?.[0]
      const { publicPackage, privatePackage } = waiting
      seat.state = await joinGroup(message.welcome, publicPackage, privatePackage, emptyPskIndex, cs, nodes)
    },
    async process(bytes) {
      const message = decoded(bytes)
      if (message.wireformat !== "mls_public_message") return fail("not a public message")
      const { newState } = await processPublicMessage(now(seat), message.publicMessage, emptyPskIndex, cs)
      seat.state = newState
      return newState.groupActiveState.kind === "active"
    },
    async encrypt(plaintext) {
      const { newState, privateMessage } = await createApplicationMessage(now(seat), utf8(plaintext), cs)
      seat.state = newState
      return encodeMlsMessage({ version: "mls10", wireformat: "mls_private_message", privateMessage })
    },
    async decrypt(bytes) {
      const message = decoded(bytes)
      if (message.wireformat !== "mls_private_message") return fail("not a private message")
      const { privateMessage } = message
      const sender = await decryptSenderData(privateMessage, now(seat).keySchedule.senderDataSecret, cs)
      const result = await processPrivateMessage(now(seat), privateMessage, emptyPskIndex, cs)
      if (result.kind !== "applicationMessage" || sender === undefined) return fail("not an application message")
      seat.state = result.newState
      return { text: text(result.message), sender: nameAt(seat, sender.leafIndex) }
    },
    authenticator: () => hex(now(seat).keySchedule.epochAuthenticator),
    roster: () => leavesOf(seat).map((leaf) => nameAt(seat, leaf)),
  }
  return seat
}

const bareLifetime = { notBefore: BigInt(lifetime.notBefore), notAfter: BigInt(lifetime.notAfter) }

export function decoded(bytes: Uint8Array): MLSMessage {
  return decodeMlsMessage(bytes, 0)?.[0] ?? fail("does not decode")
}

function fail(what: string): never {
  throw new Error(what)
}
