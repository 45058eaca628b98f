// The OpenMLS member's process: a call a line, an answer a line.
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"

type Input = Readonly<Record<string, Uint8Array>>

/** Where the member is in its group. */
export interface At {
  readonly epoch: number
  readonly isMember: boolean
  readonly confirmationTag: string
  readonly tree: string
  /** Credentials. */
  readonly members: readonly string[]
}

/** Bytes are hexadecimal. */
export interface Answer {
  readonly [name: string]: unknown
  readonly at?: At
}

export interface OpenMlsProgram {
  /** @throws Error with what OpenMLS says. */
  call(name: string, input?: Input): Promise<Answer>
  end(): void
}

export function startOpenMls(path: string): OpenMlsProgram {
  const child = spawn(path, { stdio: ["pipe", "pipe", "inherit"] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async call(name, input = {}) {
      const bytes = Object.entries(input).map(([key, value]) => [key, Buffer.from(value).toString("hex")])
      child.stdin.write(`${JSON.stringify({ ...Object.fromEntries(bytes), call: name })}\n`)
      const { value, done } = await lines.next()
      if (done === true) throw new Error(`OpenMLS ended in ${name}`)
      const answer: Answer & { error?: string } = JSON.parse(value)
      if (answer.error !== undefined) throw new Error(`OpenMLS refuses ${name}: ${answer.error}`)
      return answer
    },
    end: () => void child.stdin.end(),
  }
}
