// npm run policy -- test FILE… [--contract FILE] [--explain]
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { type PolicyExitCode, testPolicyFiles } from "../policy/test-files.ts"

const usage = `usage: npm run policy -- test FILE… [--contract FILE]… [--explain]

  --contract FILE  RPCs that the files name, as "buf build -o FILE" writes them
  --explain        say of every decision why`

function run(args: readonly string[]): PolicyExitCode {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      contract: { type: "string", multiple: true, default: [] },
      explain: { type: "boolean", default: false },
    },
    allowPositionals: true,
  })
  const [command, ...files] = positionals
  if (command !== "test" || files.length === 0) throw new Error("say which files to test")
  const options = { files, contracts: values.contract, explain: values.explain }
  return testPolicyFiles(options, { read: (path) => readFileSync(path), print: console.log, complain: console.error })
}

try {
  process.exitCode = run(process.argv.slice(2))
} catch (error) {
  console.error(`${error instanceof Error ? error.message : "unreadable"}\n\n${usage}`)
  process.exitCode = 2
}
