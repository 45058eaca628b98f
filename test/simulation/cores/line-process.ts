// A process whose lines are written and read synchronously, as an engine is entered.
import { execFileSync, spawn } from "node:child_process"
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

interface LineProcess {
  write(line: string): void
  /** Waits for a line. @throws Error if the process has ended. */
  read(): string
  kill(): void
}

export function startLineProcess(program: string): LineProcess {
  const folder = mkdtempSync(join(tmpdir(), "signet-lines-"))
  const [input, output] = [openPipe(join(folder, "input")), openPipe(join(folder, "output"))]
  rmSync(folder, { recursive: true })
  const child = spawn(program, { stdio: [input.read, output.write, "inherit"] })
  closeSync(input.read)
  closeSync(output.write)
  const chunk = Buffer.alloc(65_536)
  let rest = ""
  return {
    write: (line) => writeFileSync(input.write, `${line}\n`),
    read() {
      for (let end = rest.indexOf("\n"); ; end = rest.indexOf("\n")) {
        const line = rest.slice(0, end)
        if (end >= 0) rest = rest.slice(end + 1)
        if (end >= 0) return line
        const length = readSync(output.read, chunk)
        if (length === 0) throw new Error(`${program} has ended`)
        rest += chunk.toString("latin1", 0, length)
      }
    },
    kill() {
      child.kill("SIGKILL")
      closeSync(input.write)
      closeSync(output.read)
    },
  }
}

/** The pipes of a child process are asynchronous. Each end of a named one would wait for the other one to be opened. */
function openPipe(path: string): { readonly read: number; readonly write: number } {
  execFileSync("mkfifo", [path])
  const both = openSync(path, "r+")
  const ends = { read: openSync(path, "r"), write: openSync(path, "w") }
  closeSync(both)
  return ends
}
