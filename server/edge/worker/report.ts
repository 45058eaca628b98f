/** Logs a fault for operators: names and messages of its causes, and no other values. */
export function report(fault: unknown): void {
  const lines: string[] = []
  for (let each = fault; each instanceof Error && lines.length < 4; each = each.cause) {
    lines.push(`${each.name}: ${each.message}`)
  }
  console.error("fault", lines.length === 0 ? typeof fault : lines.join(" < "))
}
