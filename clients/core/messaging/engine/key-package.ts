import { maxLeafElements } from "@signet/canonical/leaf-elements"
import { concat, copyOf, equal } from "../crypto/bytes.ts"
import { type Kit, suiteName } from "./kit.ts"
import { checkLeaf, leafElements, ownCapabilities } from "./leaf.ts"
import { demand } from "./refusal.ts"
import { maxBytes, strictMessage } from "./strict.ts"
import {
  encodeMlsMessage,
  type KeyPackage,
  type KeyPackageTBS,
  type LeafNodeTBSKeyPackage,
  makeKeyPackageRef,
  signKeyPackage,
  signLeafNodeKeyPackage,
  verifyKeyPackage,
} from "./ts-mls.ts"

/** The longest accepted lifetime of a key package: a last resort's 90 days, and 10 more. */
const maxLifetimeSeconds = 100n * 86_400n
/** KeyPackage extension last_resort (draft-ietf-mls-extensions). */
const lastResort = 10

/** A signing identity. Its private key is a seed, or a reference that the suite's `sign` resolves. */
export interface Identity {
  /** The signed device credential. */
  readonly credential: Uint8Array
  readonly signatureKey: Uint8Array
  readonly key: Uint8Array
}

export interface NewKeyPackage {
  /** MLSMessage of wire format mls_key_package, to publish. */
  readonly keyPackage: Uint8Array
  /** KeyPackageRef, 32 bytes. */
  readonly reference: Uint8Array
  /** Init key and leaf key, 65 bytes. Store them sealed until the Welcome has been consumed. */
  readonly secret: Uint8Array
}

/** The validity and the use of a key package. */
export interface KeyPackageLife {
  /** Unix seconds. */
  readonly notBefore: number
  readonly notAfter: number
  /** True for a last resort: it is used when no other is left, possibly by several groups. */
  readonly isLastResort?: boolean
}

/** Generates a key package. */
export async function newKeyPackage(kit: Kit, identity: Identity, lifetime: KeyPackageLife): Promise<NewKeyPackage> {
  const init = await kit.suite.dhKeyPair()
  const leaf = await kit.suite.dhKeyPair()
  const leafTbs: LeafNodeTBSKeyPackage = {
    leafNodeSource: "key_package",
    hpkePublicKey: leaf.publicKey,
    signaturePublicKey: identity.signatureKey,
    credential: { credentialType: "basic", identity: copyOf(identity.credential) },
    capabilities: ownCapabilities(),
    lifetime: { notBefore: BigInt(lifetime.notBefore), notAfter: BigInt(lifetime.notAfter) },
    extensions: [],
  }
  const leafNode = await signLeafNodeKeyPackage(leafTbs, identity.key, kit.cs.signature)
  const tbs: KeyPackageTBS = {
    version: "mls10",
    cipherSuite: suiteName,
    initKey: init.publicKey,
    leafNode,
    extensions: lifetime.isLastResort ? [{ extensionType: lastResort, extensionData: new Uint8Array() }] : [],
  }
  const keyPackage = await signKeyPackage(tbs, identity.key, kit.cs.signature)
  return {
    keyPackage: encodeMlsMessage({ version: "mls10", wireformat: "mls_key_package", keyPackage }),
    reference: await makeKeyPackageRef(keyPackage, kit.cs.hash),
    secret: concat(Uint8Array.of(1), init.privateKey, leaf.privateKey),
  }
}

/** The private half of a key package. */
interface KeyPackageSecret {
  readonly initKey: Uint8Array
  readonly leafKey: Uint8Array
}

export function readKeyPackageSecret(secret: Uint8Array): KeyPackageSecret {
  demand(secret[0] === 1, "STATE_NEWER_VERSION", "a key package secret of another version")
  demand(secret.length === 65, "STATE_TAMPERED", "a key package secret has 65 bytes")
  return { initKey: copyOf(secret.subarray(1, 33)), leafKey: copyOf(secret.subarray(33)) }
}

/** Parses a key package, and checks only its encoding and version. */
export function readKeyPackage(bytes: Uint8Array): KeyPackage {
  return strictMessage(bytes, maxBytes.keyPackage, "mls_key_package").keyPackage
}

/**
 * Checks a key package before it is added (RFC 9420 section 10.1), including its lifetime, which the bare engine does
 * not check in received commits (defect E13).
 *
 * @param atSeconds The time of its use: now for an own commit, the acceptance time in the receipt for a received one.
 */
export async function checkKeyPackage(
  kit: Kit,
  keyPackage: KeyPackage,
  place: Parameters<typeof checkLeaf>[2],
  atSeconds: number,
): Promise<void> {
  const { leafNode } = keyPackage
  demand(keyPackage.cipherSuite === suiteName, "MLS_WRONG_SUITE", "V1 has one cipher suite")
  demand(keyPackage.initKey.length === 32, "MLS_BAD_KEY_PACKAGE", "an X25519 key has 32 bytes")
  demand(
    !equal(keyPackage.initKey, leafNode.hpkePublicKey),
    "MLS_BAD_KEY_PACKAGE",
    "init key and leaf key are the same",
  )
  const elements = leafElements(leafNode) + keyPackage.extensions.length
  demand(elements <= maxLeafElements, "MLS_TOO_LARGE", "more capabilities and extensions than a key package may have")
  const { notBefore, notAfter } = leafNode.lifetime
  demand(notAfter - notBefore <= maxLifetimeSeconds, "MLS_BAD_KEY_PACKAGE", "the key package's lifetime is too long")
  const at = BigInt(atSeconds)
  demand(notBefore <= at && at < notAfter, "MLS_BAD_KEY_PACKAGE", "the key package is outside its lifetime")
  await checkLeaf(kit, leafNode, place)
  const valid = await verifyKeyPackage(keyPackage, kit.cs.signature)
  demand(valid, "MLS_BAD_SIGNATURE", "the key package is not signed by its leaf's key")
}
