// A process that answers each line of its input with a line.
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"

interface LineDevice {
  /** @throws Error if the process has ended. */
  ask(line: string): Promise<string>
  /** Ends the process by SIGKILL. */
  kill(): Promise<void>
}

export function lineDevice(command: string, args: readonly string[]): LineDevice {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let errors = ""
  child.stderr.on("data", (text) => {
    errors += text
  })
  child.stdin.on("error", () => undefined)
  const exited = new Promise<void>((resolve) => child.on("exit", () => resolve()))
  return {
    async ask(line) {
      child.stdin.write(`${line}\n`)
      const { value, done } = await lines.next()
      if (done) throw new Error(`the process ended:\n${errors}`)
      return value
    },
    async kill() {
      child.kill("SIGKILL")
      await exited
    },
  }
}
