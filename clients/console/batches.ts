/** Ids of a request, as the contract limits them. */
const most = 50

/**
 * The distinct ids with a prefix, in batches that one call can ask for. Ids that are added at the end leave the batches
 * before the last unchanged, so that their answers stay cached.
 */
export function batchesOf(ids: readonly string[], prefix: string): readonly string[][] {
  const distinct = [...new Set(ids)].filter((id) => id.startsWith(prefix))
  return Array.from({ length: Math.ceil(distinct.length / most) }, (_, i) => distinct.slice(i * most, (i + 1) * most))
}
