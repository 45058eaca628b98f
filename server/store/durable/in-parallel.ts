const atOnce = 50

/** Runs work for all items, with a bounded number at once. The answers are in the items' order. */
export async function inParallel<One, Answer>(
  all: readonly One[],
  work: (one: One) => Promise<Answer>,
): Promise<readonly Answer[]> {
  const answers: Answer[] = []
  const next = all.entries()
  const worker = async () => {
    for (const [i, one] of next) answers[i] = await work(one)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, all.length) }, worker))
  return answers
}
