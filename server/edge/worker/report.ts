/** A fault, in a line that operators find in the Worker's log: what it is called and says, and never what it carries. */
export function report(fault: unknown): void {
  const lines: string[] = []
  for (let each = fault; each instanceof Error && lines.length < 4; each = each.cause) {
    lines.push(`${each.name}: ${each.message}`)
  }
  console.error("fault", lines.length === 0 ? typeof fault : lines.join(" < "))
}
