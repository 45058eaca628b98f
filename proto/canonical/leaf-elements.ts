/**
 * How many list elements a leaf of a group may have: entries of its five capability lists, and extensions. The extensions
 * of its key package count too.
 *
 * The service and every client use this number. A leaf that only one of them accepts would make the group unreadable.
 */
export const maxLeafElements = 32

/**
 * How many entries each list of protocol versions, cipher suites and credential types of a leaf may have. An engine
 * lists all that it supports: seven suites of RFC 9420, and a reserved value (GREASE).
 */
export const maxLeafKinds = 8

/** How many extensions one list may have: of a leaf, a key package, a group context or a GroupInfo. V1 uses two. */
export const maxListExtensions = 8
