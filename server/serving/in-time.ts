/** Whether the question is answered with yes in time; a failure means no. */
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

/** How long a server may ask what it depends on before it counts as not ready. */
export const readinessMs = 2_000
