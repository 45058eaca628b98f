/**
 * How many list elements a leaf of a group may have: entries of its five capability lists, and extensions. The extensions
 * of its key package count too.
 *
 * The service and every client use this number. A leaf that only one of them accepts would make the group unreadable.
 */
export const maxLeafElements = 32
