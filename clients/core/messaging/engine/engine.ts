import type { EncodedState } from "./codec.ts"
import type { CommitOptions, StagedCommit } from "./commit.ts"
import type { NewGroup } from "./group.ts"
import type { KeyPackageView } from "./inspect.ts"
import type { Joined, JoinInput } from "./join.ts"
import type { Identity, KeyPackageLife, NewKeyPackage } from "./key-package.ts"
import type { Decrypted, Encrypted } from "./message.ts"
import type { Judge, Processed } from "./process.ts"
import type { GroupState } from "./state.ts"

/**
 * MLS (RFC 9420) over opaque values, cipher suite 1 only. Nothing here is exported from the package.
 *
 * States are immutable: an operation that throws changes nothing, and a returned state may be dropped. `finish` of an
 * operation wipes the consumed secrets. Call it after the new state is stored durably.
 */
export interface Engine {
  newKeyPackage(identity: Identity, lifetime: KeyPackageLife): Promise<NewKeyPackage>
  /** Checks a key package before its use. The caller must verify its credential. */
  inspectKeyPackage(keyPackage: Uint8Array): Promise<KeyPackageView>
  createGroup(group: NewGroup): Promise<GroupState>
  join(input: JoinInput): Promise<Joined>
  /** Adds devices by their key packages; carries no path. */
  add(state: GroupState, keyPackages: readonly Uint8Array[], options: CommitOptions): Promise<StagedCommit>
  /** Removes leaves; always carries a path. */
  remove(state: GroupState, leaves: readonly number[], options: CommitOptions): Promise<StagedCommit>
  /** Renews the own keys and, if an identity is given, credential and signature key. */
  update(state: GroupState, options: CommitOptions & { readonly identity?: Identity }): Promise<StagedCommit>
  /**
   * Applies a commit. The caller runs asynchronous checks, such as those of credentials, on `change` before it stores
   * `next`, and drops `next` if they fail.
   *
   * @param atSeconds The acceptance time in the receipt; now if absent.
   */
  process(state: GroupState, commit: Uint8Array, judge: Judge, atSeconds?: number): Promise<Processed>
  encrypt(state: GroupState, plaintext: Uint8Array, aad: Uint8Array): Promise<Encrypted>
  decrypt(state: GroupState, message: Uint8Array): Promise<Decrypted>
  /** The generation of a message of the current epoch, from its sender data. Authentic only for an own message. */
  generationOf(state: GroupState, message: Uint8Array): Promise<number>
  decodeState(encoded: EncodedState, identityKey: Uint8Array): Promise<GroupState>
}
