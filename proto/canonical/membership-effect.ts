import type { MembershipProofBodyV1 } from "@signet/proto/credential/v1/policy_proof"
import { concat, equalBytes, toHex } from "./bytes.ts"
import { ensure } from "./errors.ts"

/** The membership changes of a commit, as determined by the engine or the server's parser. */
export interface CommitEffect {
  /** Credential hash and KeyPackageRef of each added leaf, 32 bytes each. */
  readonly added: readonly { readonly credentialHash: Uint8Array; readonly keyPackageRef: Uint8Array }[]
  /** Credential hash of each removed leaf. */
  readonly removed: readonly Uint8Array[]
  /** Credential hash of the committer's leaf. */
  readonly committer: Uint8Array
}

/**
 * Checks that a commit makes exactly the changes of its proof, and that the right device sent it.
 *
 * @param proof The verified proof; undefined if the commit has none.
 * @throws CanonicalError PROOF_MISSING, PROOF_UNEXPECTED, GHOST_MEMBER for a leaf that no proof names,
 * PROOF_SUBJECTS_MISMATCH for any other difference, PROOF_WRONG_COMMITTER
 */
export function checkEffect(proof: MembershipProofBodyV1 | undefined, effect: CommitEffect): void {
  const changes = effect.added.length + effect.removed.length
  if (proof === undefined) {
    ensure(changes === 0, "PROOF_MISSING")
    return
  }
  ensure(changes > 0, "PROOF_UNEXPECTED")
  const named = new Set(proof.added.map((subject) => name(subject.credentialHash, subject.keyPackageRef)))
  const added = effect.added.map((leaf) => name(leaf.credentialHash, leaf.keyPackageRef))
  ensure(added.every((leaf) => named.has(leaf)) && new Set(added).size === added.length, "GHOST_MEMBER")
  ensure(added.length === named.size, "PROOF_SUBJECTS_MISMATCH", "added")
  const leaving = new Set(proof.removed.map((subject) => toHex(subject.credentialHash)))
  const removed = new Set(effect.removed.map(toHex))
  ensure(removed.size === effect.removed.length, "PROOF_SUBJECTS_MISMATCH", "removed twice")
  const agrees = leaving.size === removed.size && [...removed].every((leaf) => leaving.has(leaf))
  ensure(agrees, "PROOF_SUBJECTS_MISMATCH", "removed")
  const anyone = proof.requester.length === 0
  ensure(anyone || equalBytes(proof.requester, effect.committer), "PROOF_WRONG_COMMITTER")
}

function name(...parts: readonly Uint8Array[]): string {
  return toHex(concat(...parts))
}
