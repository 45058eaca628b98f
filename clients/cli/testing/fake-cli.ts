// A command in this process, with a terminal that records its output.
import { styleText } from "node:util"
import type { Cli } from "../cli.ts"
import { runProgram } from "../program.ts"

export interface FakeCli {
  readonly cli: Cli
  /** Addresses that were opened in a browser. */
  readonly opened: string[]
  run(...args: string[]): Promise<{ code: number; out: string; err: string }>
}

export interface FakeOptions {
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Standard input, or a function of the output so far. */
  readonly input?: string | ((output: string) => string)
  readonly isTerminal?: boolean
  readonly fetch?: typeof fetch
  readonly nowMs?: () => number
  readonly browse?: (url: string) => void
  /** Starts the unlock agent; without it nothing is unlocked. */
  readonly program?: string
}

export function fakeCli({ env = {}, input = "", isTerminal = false, browse, ...options }: FakeOptions = {}): FakeCli {
  const output = { out: "", err: "" }
  const opened: string[] = []
  const cli: Cli = {
    env,
    fetch: options.fetch ?? globalThis.fetch,
    nowMs: options.nowMs ?? (() => Date.now()),
    openBrowser: async (url) => {
      opened.push(url)
      browse?.(url)
    },
    options: {},
    program: options.program,
    terminal: {
      out: (text) => {
        output.out += `${text}\n`
      },
      err: (text) => {
        output.err += `${text}\n`
      },
      paint: (style, text) => (isTerminal ? styleText(style, text, { validateStream: false }) : text),
      during: (_, work) => work,
      isOutTerminal: isTerminal,
      isInteractive: false,
      readInput: async () => (typeof input === "string" ? input : input(output.err)).trim(),
    },
  }
  return {
    cli,
    opened,
    async run(...args) {
      output.out = ""
      output.err = ""
      for (const name of Object.keys(cli.options)) Reflect.deleteProperty(cli.options, name)
      const code = await runProgram(cli, "0.1.0", args)
      return { code, ...output }
    },
  }
}
