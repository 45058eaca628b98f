// A page of docs as one program: its files are written and its commands run, in the order of the page.
//
// The first word after ``` is the language. What follows says what the block is:
//   ```ts file=src/main.ts       the content of a file
//   ```sh                        commands that end
//   ```sh running=URL            a command that goes on; the next block runs once the URL answers
// A block of another kind is a `text` block, which a reader only reads.
import { readFileSync } from "node:fs"

export interface Block {
  readonly language: string
  readonly file?: string
  readonly running?: string
  readonly text: string
  /** Of the page, from 1. */
  readonly line: number
}

/** @throws when a block is neither a file, nor commands, nor text. */
export function blocksOf(path: string): readonly Block[] {
  const page = readFileSync(path, "utf8")
  return [...page.matchAll(/^```(\w+)([^\n]*)\n(.*?)^```$/gms)].map((match) => {
    const [, language = "", info = "", text = ""] = match
    const line = page.slice(0, match.index).split("\n").length
    const [, file] = / file=(\S+)/.exec(info) ?? []
    const [, running] = / running=(\S+)/.exec(info) ?? []
    if (language !== "sh" && language !== "text" && file === undefined) {
      throw new Error(`${path}:${line}: a ${language} block that is no file: say file=NAME`)
    }
    return { language, text, line, ...(file !== undefined && { file }), ...(running !== undefined && { running }) }
  })
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

/**
 * A bash script that does what the page says, prints `page ready`, goes on until a signal ends it, and then stops what it
 * left running.
 */
export function scriptOf(blocks: readonly Block[]): string {
  const steps = blocks.flatMap(({ language, file, running, text, line }) => {
    const at = `echo "# line ${line}"`
    if (file !== undefined) {
      return [at, `mkdir -p "$(dirname ${quoted(file)})"`, `printf %s ${quoted(text)} > ${quoted(file)}`]
    }
    if (language !== "sh") return []
    if (running === undefined) return [at, text]
    return [at, `background ${line} ${quoted(running)} ${quoted(text)}`]
  })
  return `set -euo pipefail
started=()
stop() { for group in "\${started[@]}"; do kill -- "-$group" 2> /dev/null || true; done; }
trap stop EXIT
background() {
  if curl -so /dev/null "$2"; then
    echo "line $1: something answers at $2 already: stop it first"
    return 1
  fi
  setsid bash -c "$3" > "$PAGE_LOGS/line-$1.log" 2>&1 < /dev/null &
  started+=($!)
  for _ in $(seq 600); do
    curl -so /dev/null "$2" && return 0
    kill -0 $! 2> /dev/null || break
    sleep 0.2
  done
  echo "line $1: $2 does not answer"
  cat "$PAGE_LOGS/line-$1.log"
  return 1
}
${steps.join("\n")}
echo "page ready"
sleep infinity
`
}
