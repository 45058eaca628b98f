/** True if the question is answered with true in time. A failure counts as false. */
export async function inTime(question: () => Promise<boolean>, limitMs: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs)
  })
  try {
    return await Promise.race([question(), late])
  } catch {
    return false
  } finally {
    clearTimeout(timer)
  }
}

/** How long a readiness check may take, in milliseconds. */
export const readinessMs = 2_000
