import { stateTagOf } from "@signet/canonical/hash"
import { copyOf, hex } from "./crypto/bytes.ts"
import { type Signer, withIdentities } from "./crypto/identity.ts"
import type { Suite } from "./crypto/suite.ts"
import { decodeState, type EncodedState, encodeEpoch, encodeSecrets } from "./engine/codec.ts"
import {
  acceptCommit,
  type CommitOptions,
  discardCommit,
  type StagedCommit,
  stageAdd,
  stageRemove,
  stageUpdate,
  wipeState,
} from "./engine/commit.ts"
import type { Engine } from "./engine/engine.ts"
import { createGroup, type NewGroup } from "./engine/group.ts"
import { frameOf, groupInfoIsOf, inspectKeyPackage } from "./engine/inspect.ts"
import { type Joined, type JoinInput, join } from "./engine/join.ts"
import { type Identity, type KeyPackageLife, type NewKeyPackage, newKeyPackage } from "./engine/key-package.ts"
import { type DeviceOf, makeKit } from "./engine/kit.ts"
import { type Member, memberOf } from "./engine/leaf.ts"
import { type Decrypted, decrypt, type Encrypted, encrypt, generationOf, maxPlaintextBytes } from "./engine/message.ts"
import { type Judge, type Processed, processCommit } from "./engine/process.ts"
import { proveEngine } from "./engine/self-proof.ts"
import { type GroupState, opened } from "./engine/state.ts"
import { leaves } from "./engine/tree.ts"
import { encodeTree } from "./engine/tree-bytes.ts"

export type { Engine } from "./engine/engine.ts"
export type { Frame, KeyPackageView } from "./engine/inspect.ts"
export type { CommitChange } from "./engine/process.ts"
export type { MlsReason } from "./engine/refusal.ts"
export { MlsError } from "./engine/refusal.ts"
export type {
  CommitOptions,
  Decrypted,
  DeviceOf,
  EncodedState,
  Encrypted,
  GroupState,
  Identity,
  Joined,
  JoinInput,
  Judge,
  KeyPackageLife,
  Member,
  NewGroup,
  NewKeyPackage,
  Processed,
  StagedCommit,
}

export interface EngineOptions {
  readonly suite: Suite
  /** Resolves the key references of identities. Absent if identities contain their keys. */
  readonly signerOf?: (reference: Uint8Array) => Signer | undefined
  /** Unix seconds. */
  readonly nowSeconds: () => number
  /** Returns the device that a credential names. Throws for bytes that are no credential. */
  readonly deviceOf: DeviceOf
}

/**
 * Creates an engine and runs its self-test.
 *
 * @throws MlsError ENGINE_UNSAFE if the engine fails it on this machine.
 */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const { suite } = options
  await proveEngine(uncheckedEngine({ suite, nowSeconds: () => 1, deviceOf: hex }), suite)
  return uncheckedEngine(options)
}

/** Creates the engine without its self-test: for the self-test itself, and for tests with one engine per member. */
export function uncheckedEngine({ suite, signerOf, nowSeconds, deviceOf }: EngineOptions): Engine {
  const signing = signerOf === undefined ? suite : withIdentities(suite, signerOf)
  const kit = makeKit(signing, { nowSeconds, deviceOf })
  return {
    newKeyPackage: (identity, lifetime) => newKeyPackage(kit, identity, lifetime),
    inspectKeyPackage: (keyPackage) => inspectKeyPackage(kit, keyPackage),
    createGroup: (group) => createGroup(kit, group),
    join: (input) => join(kit, input),
    add: (state, keyPackages, commit) => stageAdd(kit, state, keyPackages, commit),
    remove: (state, removed, commit) => stageRemove(kit, state, removed, commit),
    update: (state, commit) => stageUpdate(kit, state, commit),
    process: (state, commit, judge, atSeconds = nowSeconds()) => processCommit(kit, state, commit, judge, atSeconds),
    encrypt: (state, plaintext, aad) => encrypt(kit, state, plaintext, aad),
    decrypt: (state, message) => decrypt(kit, state, message),
    generationOf: (state, message) => generationOf(kit, state, message),
    decodeState: (encoded, identityKey) => decodeState(kit, encoded, identityKey),
  }
}

export { acceptCommit, discardCommit, encodeEpoch, encodeSecrets, frameOf, maxPlaintextBytes, wipeState }

/** True if a GroupInfo (MLSMessage) has exactly the group context and confirmation tag of this state. */
export function groupInfoFits(state: GroupState, groupInfo: Uint8Array): boolean {
  const { context, confirmationTag } = opened(state)
  return groupInfoIsOf(groupInfo, context, confirmationTag)
}

/** Encodes the ratchet tree, which is sent beside a Welcome. */
export function treeOf(state: GroupState): Uint8Array {
  return encodeTree(opened(state).tree)
}

/** The members of a group, by leaf. */
export function membersOf(state: GroupState): Member[] {
  return [...leaves(opened(state).tree)].map(([leaf, node]) => memberOf(leaf, node))
}

/**
 * The epoch authenticator (RFC 9420 section 8.7), 32 bytes: equal for two devices that are in the same group.
 * The group code is derived from it. It decrypts nothing.
 */
export function epochAuthenticator(state: GroupState): Uint8Array {
  return copyOf(opened(state).epochSecrets.authenticator)
}

/** Identifies this epoch on this fork of the group: 32 bytes, not secret. Membership proofs and receipts name it. */
export function stateTag(state: GroupState): Uint8Array {
  return stateTagOf(opened(state).confirmationTag)
}
