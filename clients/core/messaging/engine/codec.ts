import { concat, equal } from "../crypto/bytes.ts"
import type { Kit } from "./kit.ts"
import { demand } from "./refusal.ts"
import { maxSkipped, type Ratchet, type SecretTree, type SkippedKey } from "./secret-tree.ts"
import { closed, epochSecretList, type GroupState, opened } from "./state.ts"
import { decodeStrictly } from "./strict.ts"
import { treeHash } from "./tree.ts"
import { decodeStoredTree, encodeTree } from "./tree-bytes.ts"
import { decodeGroupContext, encodeGroupContext } from "./ts-mls.ts"

const formatVersion = 1
/** The version of secrets with skipped keys. */
const skippedVersion = 2
const maxContextBytes = 64 * 1024

/**
 * An encoded state in two parts. The caller must seal both.
 *
 * The identity key is in neither. Numbers are big-endian.
 */
export interface EncodedState {
  /** The ratchet tree, written once per epoch: about 200 bytes and the credential per member. */
  readonly epoch: Uint8Array
  /**
   * The rest, written with every message: about 700 bytes, 40 for each member that has sent in this epoch, and 36 for
   * each skipped key.
   */
  readonly secrets: Uint8Array
}

/** Encodes the part that changes with every commit. */
export function encodeEpoch(state: GroupState): Uint8Array {
  return concat(Uint8Array.of(formatVersion), encodeTree(opened(state).tree))
}

/** Encodes the part that changes with every message. Its group context contains the tree hash. */
export function encodeSecrets(state: GroupState): Uint8Array {
  const { context, confirmationTag, ownLeaf, privateKeys, epochSecrets, secretTree } = opened(state)
  const ratchets = [...secretTree.ratchets].sort(byNumber)
  const contextBytes = encodeGroupContext(context)
  const { skipped } = secretTree
  return concat(
    Uint8Array.of(skipped.length > 0 ? skippedVersion : formatVersion),
    u32(contextBytes.length),
    contextBytes,
    confirmationTag,
    u32(ownLeaf),
    ...epochSecretList(epochSecrets),
    ...encodeKeyed([...privateKeys]),
    ...encodeKeyed([...secretTree.subtrees]),
    u32(ratchets.length),
    ...ratchets.flatMap(([leaf, ratchet]) => [u32(leaf), u32(ratchet.generation), ratchet.secret]),
    ...(skipped.length > 0 ? [u32(skipped.length)] : []),
    ...skipped.flatMap(({ leaf, generation, key, nonce }) => [u32(leaf), u32(generation), key, nonce]),
  )
}

/**
 * Restores a state. `encode` of the result gives the same bytes.
 *
 * @param identityKey The key argument of the suite's `sign` for the own leaf.
 * @throws MlsError STATE_NEWER_VERSION or STATE_TAMPERED.
 */
export async function decodeState(kit: Kit, encoded: EncodedState, identityKey: Uint8Array): Promise<GroupState> {
  const epoch = reader(encoded.epoch)
  const secrets = reader(encoded.secrets)
  demand(epoch.u8() === formatVersion, "STATE_NEWER_VERSION", "the encoded state has an unknown version")
  const version = secrets.u8()
  demand(
    version === formatVersion || version === skippedVersion,
    "STATE_NEWER_VERSION",
    "the encoded state has an unknown version",
  )
  const context = decodeStrictly(secrets.take(secrets.u32()), maxContextBytes, decodeGroupContext, encodeGroupContext)
  const confirmationTag = secrets.take(32)
  const tree = decodeStoredTree(epoch.rest())
  demand(equal(await treeHash(kit, tree), context.treeHash), "STATE_TAMPERED", "not the tree of its epoch")
  const ownLeaf = secrets.u32()
  const [init, senderData] = [secrets.take(32), secrets.take(32)]
  const [membership, authenticator] = [secrets.take(32), secrets.take(32)]
  const epochSecrets = { init, senderData, membership, authenticator }
  const privateKeys = new Map(decodeKeyed(secrets))
  const subtrees = new Map(decodeKeyed(secrets))
  const ratchets = new Map(decodeRatchets(secrets))
  const skipped = version === skippedVersion ? [...decodeSkipped(secrets, ratchets)] : []
  demand(secrets.rest().length === 0, "STATE_TAMPERED", "the encoded state has bytes after its end")
  const secretTree: SecretTree = { width: tree.nodes.length, subtrees, ratchets, skipped }
  return closed({ context, confirmationTag, tree, ownLeaf, privateKeys, epochSecrets, secretTree, identityKey })
}

function byNumber([a]: readonly [number, unknown], [b]: readonly [number, unknown]): number {
  return a - b
}

function u32(value: number): Uint8Array {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value)
  return bytes
}

/** Encodes a count, and pairs of a number and 32 bytes in ascending order. */
function encodeKeyed(entries: readonly (readonly [number, Uint8Array])[]): Uint8Array[] {
  return [u32(entries.length), ...[...entries].sort(byNumber).flatMap(([key, value]) => [u32(key), value])]
}

function* decodeKeyed(part: Reader): Generator<[number, Uint8Array]> {
  let previous = -1
  for (let count = part.u32(); count > 0; count--) {
    const key = part.u32()
    demand(key > previous, "STATE_TAMPERED", "the row numbers do not ascend")
    previous = key
    yield [key, part.take(32)]
  }
}

function* decodeRatchets(part: Reader): Generator<[number, Ratchet]> {
  let previous = -1
  for (let count = part.u32(); count > 0; count--) {
    const leaf = part.u32()
    demand(leaf > previous, "STATE_TAMPERED", "the row numbers do not ascend")
    previous = leaf
    const generation = part.u32()
    yield [leaf, { generation, secret: part.take(32) }]
  }
}

function* decodeSkipped(part: Reader, ratchets: ReadonlyMap<number, Ratchet>): Generator<SkippedKey> {
  const count = part.u32()
  demand(count > 0 && count <= maxSkipped.group, "STATE_TAMPERED", "the number of skipped keys")
  for (let i = 0; i < count; i++) {
    const [leaf, generation] = [part.u32(), part.u32()]
    const next = ratchets.get(leaf)?.generation ?? 0
    demand(generation < next, "STATE_TAMPERED", "a skipped key of a generation to come")
    yield { leaf, generation, key: part.take(16), nonce: part.take(12) }
  }
}

interface Reader {
  u8(): number
  u32(): number
  /** A copy of the next bytes. */
  take(length: number): Uint8Array
  rest(): Uint8Array
}

function reader(bytes: Uint8Array): Reader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let offset = 0
  const advance = (length: number) => {
    demand(offset + length <= bytes.length, "STATE_TAMPERED", "the encoded state is truncated")
    offset += length
    return offset - length
  }
  return {
    u8: () => view.getUint8(advance(1)),
    u32: () => view.getUint32(advance(4)),
    take: (length) => Uint8Array.from(bytes.subarray(advance(length), offset)),
    rest: () => bytes.subarray(advance(bytes.length - offset)),
  }
}
