/**
 * The array form of a left-balanced tree (RFC 9420 appendix C): leaves at even indices, parents at odd ones.
 * An index names the same subtree in trees of any width.
 */

export function isLeafIndex(index: number): boolean {
  return (index & 1) === 0
}

/** Height above the leaves; a leaf has 0. */
export function level(index: number): number {
  return isLeafIndex(index) ? 0 : 31 - Math.clz32(~index & (index + 1))
}

export function left(index: number): number {
  return index ^ (1 << (level(index) - 1))
}

export function right(index: number): number {
  return index ^ (3 << (level(index) - 1))
}

export function parent(index: number): number {
  const height = level(index)
  return (index | (1 << height)) & ~(1 << (height + 1))
}

/** The other child of the parent. */
export function sibling(index: number): number {
  const above = parent(index)
  return index < above ? right(above) : left(above)
}

/** @param width Number of nodes, 2^n - 1. */
export function root(width: number): number {
  return (width - 1) >> 1
}

/** The ancestors of a node, nearest first, the root last. */
export function directPath(index: number, width: number): number[] {
  const path: number[] = []
  for (let at = index; at !== root(width); path.push(at)) at = parent(at)
  return path
}

/** True if `index` is `ancestor` or one of its descendants. */
export function isWithin(index: number, ancestor: number): boolean {
  const reach = (1 << level(ancestor)) - 1
  return index >= ancestor - reach && index <= ancestor + reach
}
