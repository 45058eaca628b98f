// Runs the commands of a member again, with a replayed native side.
import "./replay.ts"
import "./member.ts"

async function runAll(): Promise<void> {
  for (const line of lines) await onLine(line)
}

runAll().catch((error: unknown) => printLine(String(error)))
