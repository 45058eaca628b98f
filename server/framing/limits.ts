import { maxLeafElements, maxLeafExtensions, maxLeafKinds, maxListExtensions } from "@signet/canonical/leaf-elements"

/** Maximum size of each kind in bytes, checked before parsing. Callers can pass their own limits. */
export const maxBytes = {
  application: 256 * 1024,
  commit: 1536 * 1024,
  groupInfo: 64 * 1024,
  keyPackage: 8 * 1024,
  /** The Welcome of a commit for all joining members. */
  welcome: 1024 * 1024,
  /** A Welcome for one joining member. Its GroupInfo contains a proof with up to 256 subjects (18 KiB). */
  welcomeForOne: 24 * 1024,
  tree: 4 * 1024 * 1024,
}

/** Maximum bytes and elements inside a message, independent of its size. */
export const maxInside = {
  /** Bytes of authenticated_data; an EnvelopeAadV1 has at most 33,000. */
  aad: 33_000,
  /** Bytes of one LeafNode. */
  leaf: 8 * 1024,
  /** A membership proof covers at most 256 subjects. */
  proposals: 256,
  /** Recipients of one Welcome. */
  groupSecrets: 1024,
  /** Nodes of a tree including blanks: 2,048 leaves and their parents. */
  treeNodes: 4095,
  /** Nodes of an UpdatePath: the height of a tree of 4,095 nodes. */
  pathNodes: 11,
  /** Recipients of one path secret: the leaves of such a tree. */
  pathSecrets: 2048,
  /** Capabilities and extensions of one leaf, with the extensions of its key package. */
  leafElements: maxLeafElements,
  /** Versions, cipher suites and credential types of one leaf. */
  leafKinds: maxLeafKinds,
  /** Extensions of a leaf or a key package, each. */
  leafExtensions: maxLeafExtensions,
  /** Extensions of a group context or a GroupInfo. */
  extensions: maxListExtensions,
}
