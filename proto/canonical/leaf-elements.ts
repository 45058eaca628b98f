/**
 * How many list elements a leaf of a group may have: entries of its five capability lists, and extensions. The extensions
 * of its key package count too.
 *
 * The service and every client use this number. A leaf that only one of them accepts would make the group unreadable.
 */
export const maxLeafElements = 32

/**
 * How many entries a leaf's lists of protocol versions, cipher suites and credential types may have. An engine lists all
 * that it supports: MLS 1.0, seven suites of RFC 9420, two credential types, and a reserved value (GREASE) among suites
 * and credential types. The clients' decoder reads no other version.
 */
export const maxLeafKinds = { versions: 1, cipherSuites: 8, credentials: 3 }

/** How many extensions a leaf or a key package may have, each. V1 uses none; a key package for the last resort has one. */
export const maxLeafExtensions = 2

/** How many extensions a group context or a GroupInfo may have. V1 uses two. */
export const maxListExtensions = 8
