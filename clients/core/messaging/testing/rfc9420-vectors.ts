// The MLS working group's vectors for RFC 9420 (mls-implementations, folder test-vectors). They are not distributed
// here: the tests read them from the folder RFC9420_VECTORS, and are skipped visibly without it.
import { readFileSync } from "node:fs"
import { join } from "node:path"

interface TreeValidation {
  cipher_suite: number
  tree: string
  group_id: string
  tree_hashes: string[]
  resolutions: number[][]
}

interface SecretTree {
  cipher_suite: number
  encryption_secret: string
  leaves: { generation: number; application_key: string; application_nonce: string }[][]
}

interface TreeKem {
  cipher_suite: number
  group_id: string
  epoch: number
  confirmed_transcript_hash: string
  ratchet_tree: string
  leaves_private: { index: number; encryption_priv: string; path_secrets: { node: number; path_secret: string }[] }[]
  update_paths: { sender: number; update_path: string; commit_secret: string; tree_hash_after: string }[]
}

interface Welcome {
  cipher_suite: number
  external_psks: unknown[]
  key_package: string
  encryption_priv: string
  init_priv: string
  welcome: string
  ratchet_tree: string | null
  initial_epoch_authenticator: string
}

interface TranscriptHashes {
  cipher_suite: number
  authenticated_content: string
  interim_transcript_hash_before: string
  confirmed_transcript_hash_after: string
  interim_transcript_hash_after: string
}

const folder = process.env.RFC9420_VECTORS

/** Why the vectors' tests are skipped, or undefined when they run. */
export const vectorsMissing = folder === undefined ? "RFC9420_VECTORS names no folder" : undefined

/** The vectors of cipher suite 1; none without the folder. */
function suiteOne<Vector extends { cipher_suite: number }>(name: string): readonly Vector[] {
  if (folder === undefined) return []
  const all = JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8")) as Vector[]
  return all.filter((vector) => vector.cipher_suite === 1)
}

export const vectors = {
  treeValidation: suiteOne<TreeValidation>("tree-validation"),
  secretTree: suiteOne<SecretTree>("secret-tree"),
  transcriptHashes: suiteOne<TranscriptHashes>("transcript-hashes"),
  treekem: suiteOne<TreeKem>("treekem"),
  // Pre-shared keys are refused in V1.
  welcome: suiteOne<Welcome>("passive-client-welcome").filter((vector) => vector.external_psks.length === 0),
}
