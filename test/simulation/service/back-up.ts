/** Copies a table whose rows are replaced, not changed. @returns Puts the copy in place of what is stored then. */
export function backUpOf<Key, Row>(table: Map<Key, Row>): () => void {
  const copy = [...table]
  return () => {
    table.clear()
    for (const [key, row] of copy) table.set(key, row)
  }
}
