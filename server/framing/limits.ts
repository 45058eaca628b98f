/** Most bytes of each kind, compared before anything is parsed. A caller with limits of its own hands them in. */
export const maxBytes = {
  application: 256 * 1024,
  commit: 1536 * 1024,
  groupInfo: 64 * 1024,
  keyPackage: 8 * 1024,
  /** The Welcome of a commit, for all who join by it. */
  welcome: 1024 * 1024,
  /** A Welcome for one of them: a proof with 256 subjects (18 KiB) is in its GroupInfo. */
  welcomeForOne: 24 * 1024,
  tree: 4 * 1024 * 1024,
}

/** Most bytes and elements inside a message, whatever its size may be. */
export const maxInside = {
  /** Bytes of authenticated_data: an EnvelopeAadV1 has at most 33,000. */
  aad: 33_000,
  /** Bytes of one LeafNode. */
  leaf: 8 * 1024,
  proposals: 512,
  /** Recipients of one Welcome. */
  groupSecrets: 1024,
  /** Nodes of a tree, blanks included: 2,048 leaves and their parents. */
  treeNodes: 4095,
  /** Steps of an UpdatePath: the height of a tree of 4,095 nodes. */
  pathNodes: 11,
  /** Recipients of one UpdatePath: the leaves of such a tree. */
  pathSecrets: 2048,
  /** Elements of one list of capabilities. */
  capabilities: 64,
  /** Extensions of one list; V1 uses two. */
  extensions: 16,
}
