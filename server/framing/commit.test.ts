import { encodeMlsMessage } from "ts-mls/message.js"
import type { Proposal } from "ts-mls/proposal.js"
import type { ProposalOrRef } from "ts-mls/proposalOrRefType.js"
import type { PublicMessage } from "ts-mls/publicMessage.js"
import type { UpdatePath } from "ts-mls/updatePath.js"
import { beforeAll, describe, expect, test } from "vitest"
import { parseCommit } from "./commit.ts"
import { parseApplication } from "./message.ts"
import { refusalWithPlace, theirs } from "./testing/bent.ts"
import { type Recording, recordSmall } from "./testing/recording.ts"

let recording: Recording
let withAdds: Uint8Array
let withPath: Uint8Array
let path: UpdatePath
beforeAll(async () => {
  recording = await recordSmall()
  withAdds = recording.commits[0]?.staged.commit ?? fail()
  withPath = recording.commits[1]?.staged.commit ?? fail()
  const { content } = theirs(withPath, "mls_public_message").publicMessage
  path = (content.contentType === "commit" ? content.commit.path : undefined) ?? fail()
})

function fail(): never {
  throw new Error("not recorded")
}

function bentMessage(from: Uint8Array, bend: (message: PublicMessage) => object): Uint8Array {
  const { publicMessage } = theirs(from, "mls_public_message")
  // The types do not allow what a dishonest client can encode.
  const changed: PublicMessage = Object.assign({}, publicMessage, bend(publicMessage))
  return encodeMlsMessage({ version: "mls10", wireformat: "mls_public_message", publicMessage: changed })
}

const bentContent = (from: Uint8Array, change: object) =>
  bentMessage(from, (message) => ({ content: { ...message.content, ...change } }))

const proposing = (proposals: readonly (Proposal | ProposalOrRef)[], withThePath = true) =>
  bentContent(withPath, {
    commit: {
      proposals: proposals.map((one) =>
        "proposalOrRefType" in one ? one : { proposalOrRefType: "proposal", proposal: one },
      ),
      path: withThePath ? path : undefined,
    },
  })

const remove = (removed: number): Proposal => ({ proposalType: "remove", remove: { removed } })
const add = (n: number): Proposal => {
  const { keyPackage } = theirs(recording.keyPackages[n]?.keyPackage ?? fail(), "mls_key_package")
  return { proposalType: "add", add: { keyPackage } }
}
const walking = (change: object) => bentContent(withPath, { commit: { proposals: [], path: { ...path, ...change } } })
const sealed = { kemOutput: new Uint8Array(32), ciphertext: new Uint8Array(48) }
const step = (count: number) => ({
  hpkePublicKey: new Uint8Array(32),
  encryptedPathSecret: new Array(count).fill(sealed),
})

describe("a commit", () => {
  test.each<[string, () => Uint8Array, string]>([
    ["with a path alone", () => withPath, "read"],
    ["with adds", () => withAdds, "read"],
    ["with removes and a path", () => proposing([remove(2), remove(3)]), "read"],
    [
      "by reference",
      () => proposing([{ proposalOrRefType: "reference", reference: new Uint8Array(32) }]),
      "MLS_UNSUPPORTED proposals by reference are not used",
    ],
    [
      "with an update",
      () =>
        proposing([{ proposalType: "update", update: { leafNode: { ...path.leafNode, leafNodeSource: "update" } } }]),
      "MLS_UNSUPPORTED proposal_type",
    ],
    [
      "with a reinit",
      () =>
        proposing([
          {
            proposalType: "reinit",
            reinit: {
              groupId: new Uint8Array(),
              version: "mls10",
              cipherSuite: "MLS_128_DHKEMX25519_AES128GCM_SHA256_Ed25519",
              extensions: [],
            },
          },
        ]),
      "MLS_UNSUPPORTED proposal_type",
    ],
    [
      "with an external init",
      () => proposing([{ proposalType: "external_init", externalInit: { kemOutput: new Uint8Array(32) } }]),
      "MLS_UNSUPPORTED proposal_type",
    ],
    [
      "with new group extensions",
      () => proposing([{ proposalType: "group_context_extensions", groupContextExtensions: { extensions: [] } }]),
      "MLS_UNSUPPORTED proposal_type",
    ],
    [
      "with a pre-shared key",
      () =>
        proposing([
          {
            proposalType: "psk",
            psk: { preSharedKeyId: { psktype: "external", pskId: new Uint8Array(1), pskNonce: new Uint8Array(32) } },
          },
        ]),
      "MLS_UNSUPPORTED proposal_type",
    ],
    [
      "with a proposal of its own",
      () => proposing([{ proposalType: 0xf0a7, proposalData: new Uint8Array() }]),
      "MLS_UNSUPPORTED proposal_type",
    ],
    [
      "with the reserved proposal",
      () => proposing([{ proposalType: 0, proposalData: new Uint8Array() }]),
      "MLS_MALFORMED proposal_type",
    ],
    ["that removes its committer", () => proposing([remove(1)]), "MLS_MALFORMED remove.removed: the committer"],
    [
      "that removes a member twice",
      () => proposing([remove(2), remove(2)]),
      "MLS_MALFORMED remove.removed: a member twice",
    ],
    [
      "that adds a key package twice",
      () => proposing([add(0), add(1), add(0)], false),
      "MLS_MALFORMED add: a key twice",
    ],
    ["that adds and removes", () => proposing([add(0), remove(2)]), "MLS_UNSUPPORTED adds and removes in one commit"],
    ["that adds with a path", () => proposing([add(0)]), "MLS_UNSUPPORTED adds and a path in one"],
    ["that removes without a path", () => proposing([remove(2)], false), "MLS_MALFORMED a path is needed here"],
    ["of nothing", () => proposing([], false), "MLS_MALFORMED a path is needed here"],
    ["of 256 removes", () => proposing(Array.from({ length: 256 }, (_, i) => remove(i + 2))), "read"],
    [
      "of 257 removes",
      () => proposing(Array.from({ length: 257 }, (_, i) => remove(i + 2))),
      "MLS_TOO_LARGE proposals",
    ],
    [
      "from outside",
      () => bentContent(withPath, { sender: { senderType: "new_member_commit" } }),
      "MLS_UNSUPPORTED sender_type: only members commit",
    ],
    [
      "from an external sender",
      () => bentContent(withPath, { sender: { senderType: "external", senderIndex: 0 } }),
      "MLS_UNSUPPORTED sender_type: only members commit",
    ],
    [
      "with much authenticated data",
      () => bentContent(withPath, { authenticatedData: new Uint8Array(33_000) }),
      "read",
    ],
    [
      "with too much authenticated data",
      () => bentContent(withPath, { authenticatedData: new Uint8Array(33_001) }),
      "MLS_TOO_LARGE authenticated_data",
    ],
    [
      "that is a proposal",
      () => bentContent(withPath, { contentType: "proposal", proposal: remove(2) }),
      "MLS_WRONG_WIRE_FORMAT content_type: only commits are public messages",
    ],
    [
      "that is an application message",
      () => bentContent(withPath, { contentType: "application", applicationData: new Uint8Array(5) }),
      "MLS_WRONG_WIRE_FORMAT content_type: only commits are public messages",
    ],
    [
      "with a short signature",
      () => bentMessage(withPath, ({ auth }) => ({ auth: { ...auth, signature: new Uint8Array(63) } })),
      "MLS_MALFORMED signature",
    ],
    [
      "with a long confirmation tag",
      () => bentMessage(withPath, ({ auth }) => ({ auth: { ...auth, confirmationTag: new Uint8Array(33) } })),
      "MLS_MALFORMED confirmation_tag",
    ],
    [
      "with no membership tag",
      () => bentMessage(withPath, () => ({ membershipTag: new Uint8Array() })),
      "MLS_MALFORMED membership_tag",
    ],
  ])("%s", (_, make, expected) => {
    expect(refusalWithPlace(() => parseCommit(make()))).toBe(expected)
  })
})

describe("a path", () => {
  test.each<[string, () => Uint8Array, string]>([
    ["of no nodes", () => walking({ nodes: [] }), "read"],
    ["of 11 nodes for 2,048 leaves", () => walking({ nodes: [...new Array(10).fill(step(1)), step(2038)] }), "read"],
    ["of 12 nodes", () => walking({ nodes: new Array(12).fill(step(1)) }), "MLS_TOO_LARGE path.nodes"],
    [
      "for 2,049 leaves",
      () => walking({ nodes: [step(1), step(2048)] }),
      "MLS_TOO_LARGE path.nodes.encrypted_path_secret",
    ],
    [
      "with a short key",
      () => walking({ nodes: [{ ...step(1), hpkePublicKey: new Uint8Array(31) }] }),
      "MLS_MALFORMED path.nodes.encryption_key",
    ],
    [
      "with a short KEM output",
      () => walking({ nodes: [{ ...step(1), encryptedPathSecret: [{ ...sealed, kemOutput: new Uint8Array(31) }] }] }),
      "MLS_MALFORMED path.nodes.encrypted_path_secret",
    ],
    [
      "with a long secret",
      () => walking({ nodes: [{ ...step(1), encryptedPathSecret: [{ ...sealed, ciphertext: new Uint8Array(49) }] }] }),
      "MLS_MALFORMED path.nodes.encrypted_path_secret",
    ],
    [
      "with the leaf of a key package",
      () =>
        walking({
          leafNode: { ...path.leafNode, leafNodeSource: "key_package", lifetime: { notBefore: 0n, notAfter: 1n } },
        }),
      "MLS_MALFORMED leaf_node_source of a path",
    ],
    [
      "with a parent hash of 5 bytes",
      () => walking({ leafNode: { ...path.leafNode, parentHash: new Uint8Array(5) } }),
      "MLS_MALFORMED parent_hash",
    ],
  ])("%s", (_, make, expected) => {
    expect(refusalWithPlace(() => parseCommit(make()))).toBe(expected)
  })
})

describe("an application message", () => {
  const bentPrivate = (change: object) => {
    const { privateMessage } = theirs(recording.messages[0]?.message ?? fail(), "mls_private_message")
    return encodeMlsMessage({
      version: "mls10",
      wireformat: "mls_private_message",
      privateMessage: { ...privateMessage, ...change },
    })
  }

  test.each<[string, () => Uint8Array, string]>([
    ["as it is", () => bentPrivate({}), "read"],
    [
      "that is an encrypted commit",
      () => bentPrivate({ contentType: "commit" }),
      "MLS_WRONG_WIRE_FORMAT content_type: handshakes are public messages",
    ],
    [
      "that is an encrypted proposal",
      () => bentPrivate({ contentType: "proposal" }),
      "MLS_WRONG_WIRE_FORMAT content_type: handshakes are public messages",
    ],
    [
      "that is a public message",
      () => withPath,
      "MLS_WRONG_WIRE_FORMAT wire_format: mls_private_message is expected here",
    ],
    [
      "with too much authenticated data",
      () => bentPrivate({ authenticatedData: new Uint8Array(33_001) }),
      "MLS_TOO_LARGE authenticated_data",
    ],
    [
      "with sender data of 29 bytes",
      () => bentPrivate({ encryptedSenderData: new Uint8Array(29) }),
      "MLS_MALFORMED encrypted_sender_data",
    ],
    ["with nothing in it", () => bentPrivate({ ciphertext: new Uint8Array(82) }), "MLS_MALFORMED ciphertext"],
    ["of 256 KiB", () => bentPrivate({ ciphertext: new Uint8Array(256 * 1024) }), "MLS_TOO_LARGE mls_private_message"],
  ])("%s", (_, make, expected) => {
    expect(refusalWithPlace(() => parseApplication(make()))).toBe(expected)
  })

  test("is not a commit", () => {
    const read = () => parseCommit(bentPrivate({}))
    expect(refusalWithPlace(read)).toBe("MLS_WRONG_WIRE_FORMAT wire_format: mls_public_message is expected here")
  })
})
