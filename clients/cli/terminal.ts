// The command's terminal: results on standard output, everything else on standard error.
import { styleText } from "node:util"

type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan"

export interface Terminal {
  /** Prints a result and a line end. */
  out(text: string): void
  /** Prints anything else and a line end. */
  err(text: string): void
  /** Adds colour if standard output (or "err": standard error) is a terminal and NO_COLOR is not set. */
  paint(style: Style, text: string, on?: "out" | "err"): string
  /** Shows a progress text during the work, at a terminal. */
  during<T>(what: string, work: Promise<T>): Promise<T>
  readonly isOutTerminal: boolean
  /** True if the user can be prompted. */
  readonly isInteractive: boolean
  /** The whole of standard input, without the trailing line end. */
  readInput(): Promise<string>
}

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]
const frameMs = 80
/** Shorter work shows no progress text. */
const patienceMs = 300
const maxInputBytes = 1_048_576

export function processTerminal({
  stdin,
  stdout,
  stderr,
}: Pick<NodeJS.Process, "stdin" | "stdout" | "stderr">): Terminal {
  return {
    out: (text) => void stdout.write(`${text}\n`),
    err: (text) => void stderr.write(`${text}\n`),
    paint: (style, text, on = "out") => styleText(style, text, { stream: on === "out" ? stdout : stderr }),
    isOutTerminal: stdout.isTTY === true,
    isInteractive: stdin.isTTY === true && stderr.isTTY === true,
    async during(what, work) {
      if (stderr.isTTY !== true) return work
      let frame = -Math.ceil(patienceMs / frameMs)
      const timer = setInterval(() => {
        if (frame++ >= 0) stderr.write(`\r${frames[frame % frames.length]} ${what}`)
      }, frameMs)
      try {
        return await work
      } finally {
        clearInterval(timer)
        if (frame >= 0) stderr.write("\r\x1b[K")
      }
    },
    async readInput() {
      const chunks: Buffer[] = []
      let size = 0
      for await (const chunk of stdin) {
        const bytes = Buffer.from(chunk)
        size += bytes.length
        if (size > maxInputBytes) throw new Error("standard input exceeds the size limit")
        chunks.push(bytes)
      }
      return Buffer.concat(chunks).toString("utf8").trim()
    },
  }
}
