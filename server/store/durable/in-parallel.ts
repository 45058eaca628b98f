const maxConcurrent = 50

/**
 * Runs `work` for all items, at most 50 at a time. If one fails, the others continue in the background.
 *
 * @returns The results in the order of the items.
 */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  const entries = items.entries()
  const runSome = async () => {
    for (const [i, item] of entries) results[i] = await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(maxConcurrent, items.length) }, runSome))
  return results
}
