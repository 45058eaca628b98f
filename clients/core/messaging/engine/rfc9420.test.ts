import type { GroupContext } from "ts-mls/groupContext.js"
import { decodeUpdatePath, encodeUpdatePath } from "ts-mls/updatePath.js"
import { describe, expect, test } from "vitest"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { concat, hex } from "../crypto/bytes.ts"
import { epochAuthenticator } from "../mls.ts"
import { vectors, vectorsMissing } from "../testing/rfc9420-vectors.ts"
import { join } from "./join.ts"
import { type Kit, makeKit, suiteName } from "./kit.ts"
import { deriveSecrets } from "./path.ts"
import { makeSecretTree, takeKey } from "./secret-tree.ts"
import type { Inside } from "./state.ts"
import { decodeStrictly } from "./strict.ts"
import { copyTree, resolution, subtreeHash, type Tree, treeHash } from "./tree.ts"
import { decodeTree, encodeTree } from "./tree-bytes.ts"
import { checkTree } from "./tree-check.ts"
import { checkPath, openPath } from "./update-path.ts"

const bytes = (text: string) => Uint8Array.from(Buffer.from(text, "hex"))

// The published test vectors of cipher suite 1, run through our own files. Other tests cover what they omit (E3).

test.runIf(vectorsMissing)(`the RFC 9420 vectors are skipped: ${vectorsMissing}`, ({ skip }) => skip())

/** The vectors have no device credentials, so every leaf counts as a device of its own. */
function vectorKit(): Kit {
  let devices = 0
  return makeKit(makeNodeSuite(), { nowSeconds: () => 0, deviceOf: () => `device ${devices++}` })
}

test.each(vectors.treeValidation.map((vector, n) => [n, vector] as const))(
  "RFC 9420 tree validation, vector %i",
  async (_, vector) => {
    const kit = vectorKit()
    const tree = decodeTree(bytes(vector.tree))
    expect(hex(encodeTree(tree))).toBe(vector.tree)
    expect(tree.nodes.map((_, index) => resolution(tree, index))).toEqual(vector.resolutions)
    for (const [index, hash] of vector.tree_hashes.entries())
      expect(hex(await subtreeHash(kit, tree, index))).toBe(hash)
    await checkTree(kit, tree, { groupId: bytes(vector.group_id), extensions: [], treeHash: await treeHash(kit, tree) })
  },
)

test.each(vectors.secretTree.map((vector, n) => [n, vector] as const))(
  "RFC 9420 secret tree, vector %i",
  async (_, vector) => {
    const kit = vectorKit()
    let tree = makeSecretTree(vector.leaves.length * 2 - 1, bytes(vector.encryption_secret))
    for (const [leaf, generations] of vector.leaves.entries()) {
      for (const { generation, application_key, application_nonce } of generations) {
        const taken = await takeKey(kit, tree, leaf, generation)
        expect([hex(taken.key), hex(taken.nonce)]).toEqual([application_key, application_nonce])
        tree = taken.next
      }
    }
  },
)

test.each(vectors.welcome.map((vector, n) => [n, vector] as const))(
  "RFC 9420 passive client, Welcome %i",
  async (_, vector) => {
    const { state } = await join(vectorKit(), {
      welcome: bytes(vector.welcome),
      tree: vector.ratchet_tree === null ? undefined : bytes(vector.ratchet_tree),
      keyPackage: bytes(vector.key_package),
      secret: concat(Uint8Array.of(1), bytes(vector.init_priv), bytes(vector.encryption_priv)),
      identityKey: new Uint8Array(),
    })
    expect(hex(epochAuthenticator(state))).toBe(vector.initial_epoch_authenticator)
  },
)

describe.each(vectors.treekem.map((vector, n) => [n, vector] as const))("RFC 9420 treekem, vector %i", (_, vector) => {
  const context: GroupContext = {
    version: "mls10",
    cipherSuite: suiteName,
    groupId: bytes(vector.group_id),
    // The vector names the epoch after the path.
    epoch: BigInt(vector.epoch) - 1n,
    treeHash: new Uint8Array(),
    confirmedTranscriptHash: bytes(vector.confirmed_transcript_hash),
    extensions: [],
  }
  const tree = decodeTree(bytes(vector.ratchet_tree))

  test.each(vector.update_paths.map((path) => [path.sender, path] as const))(
    "path of leaf %i",
    async (sender, path) => {
      const kit = { ...vectorKit(), deviceOf: () => "any" }
      const update = decodeStrictly(bytes(path.update_path), 65_536, decodeUpdatePath, encodeUpdatePath)
      for (const { index, encryption_priv, path_secrets } of vector.leaves_private) {
        if (index === sender) continue
        const privateKeys = new Map<number, Uint8Array>([[index * 2, bytes(encryption_priv)]])
        for (const { node, path_secret } of path_secrets) {
          const { secrets } = await deriveSecrets(kit, bytes(path_secret), [node])
          for (const { privateKey } of secrets) privateKeys.set(node, privateKey)
        }
        const inside = insideOf(context, tree, index, privateKeys)
        const after = copyTree(tree)
        await checkPath(kit, inside, after, sender, update)
        const { commitSecret } = await openPath(kit, inside, after, sender, update)
        expect(hex(commitSecret)).toBe(path.commit_secret)
        expect(hex(await treeHash(kit, after))).toBe(path.tree_hash_after)
      }
    },
  )
})

function insideOf(context: GroupContext, tree: Tree, ownLeaf: number, privateKeys: Map<number, Uint8Array>): Inside {
  const none = new Uint8Array()
  return {
    context,
    tree,
    ownLeaf,
    privateKeys,
    confirmationTag: none,
    epochSecrets: { init: none, senderData: none, membership: none, authenticator: none },
    secretTree: makeSecretTree(tree.nodes.length, none),
    identityKey: none,
  }
}
