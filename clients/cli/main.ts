// The entry point of the signet command.
import { secretVariables } from "./environment.ts"
import { hiddenAgent } from "./hidden.ts"
import { processTerminal } from "./terminal.ts"

/** @returns The exit code. */
export async function run(version: string): Promise<number> {
  if (process.argv[2] === hiddenAgent) {
    const { runAgent } = await import("./unlock/agent.ts")
    await runAgent(process.stdin, process.stdout)
    return 0
  }
  const { runProgram } = await import("./program.ts")
  for (const stream of [process.stdout, process.stderr]) stream.on("error", endQuietly)
  const env = { ...process.env }
  // Child processes inherit the environment, and a browser needs no secrets.
  for (const name of secretVariables) delete process.env[name]
  const cli = {
    terminal: processTerminal(process),
    env,
    fetch: globalThis.fetch,
    nowMs: () => Date.now(),
    openBrowser: async (url: string) => {
      const { openInBrowser } = await import("./sign-in/open-browser.ts")
      await openInBrowser(url)
    },
    options: {},
    program: process.argv[1],
  }
  return runProgram(cli, version, process.argv.slice(2))
}

/** Exits with the code of SIGPIPE when the reader of the output, such as `head`, has closed it. */
function endQuietly(error: Error): void {
  if (!("code" in error) || error.code !== "EPIPE") throw error
  process.exit(128 + 13)
}
