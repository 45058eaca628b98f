import { toHex } from "@signet/canonical/bytes"
import { expect, test } from "vitest"
import { vectors, vectorsMissing } from "../../clients/core/messaging/testing/rfc9420-vectors.ts"
import { verifyLeafNode } from "./leaf-node.ts"
import { verify } from "./testing/samples.ts"
import { interimTranscriptHash, nextConfirmedTranscriptHash } from "./transcript.ts"
import { parseTree } from "./tree.ts"
import { treeHash } from "./tree-hash.ts"

const bytes = (text: string) => Uint8Array.from(Buffer.from(text, "hex"))

test.runIf(vectorsMissing)(`the RFC 9420 vectors are skipped: ${vectorsMissing}`, ({ skip }) => skip())

test.each(vectors.treeValidation.map((vector, n) => [n, vector] as const))(
  "RFC 9420 tree validation, vector %i: tree hash and leaf signatures",
  (_, vector) => {
    const tree = parseTree(bytes(vector.tree))
    expect(toHex(treeHash(tree))).toBe(vector.tree_hashes[(vector.tree_hashes.length - 1) / 2])
    const groupId = bytes(vector.group_id)
    for (const [leafIndex, leaf] of tree.leaves) expect(verifyLeafNode(leaf, { groupId, leafIndex }, verify)).toBe(true)
  },
)

test.each(vectors.transcriptHashes.map((vector, n) => [n, vector] as const))(
  "RFC 9420 transcript hashes, vector %i",
  (_, vector) => {
    // Its commit uses proposals by reference, which `parseCommit` refuses. The tag follows the transcript's input.
    const content = bytes(vector.authenticated_content)
    const tag = content.subarray(-32)
    const interim = bytes(vector.interim_transcript_hash_before)
    const confirmed = nextConfirmedTranscriptHash(interim, { transcript: content.subarray(0, -33) })
    expect(toHex(confirmed)).toBe(vector.confirmed_transcript_hash_after)
    expect(toHex(interimTranscriptHash(confirmed, tag))).toBe(vector.interim_transcript_hash_after)
  },
)
