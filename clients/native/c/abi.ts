// The binary interface of signet.h as lines: constants, structures with their fields, and functions.
import { readFileSync } from "node:fs"
import { join } from "node:path"

const header = join(import.meta.dirname, "signet.h")

/** @returns One line for each constant, structure, type and function, in the order of the header. */
export function readAbi(text: string = readFileSync(header, "utf8")): readonly string[] {
  const code = text.replaceAll(/\/\*.*?\*\//gs, "").replaceAll("SIGNET_API ", "")
  const constants = [...code.matchAll(/^#define (SIGNET_\w+) +(\S+)/gm)].filter(([, name]) => name !== "SIGNET_API")
  const declarations = code
    .replaceAll(/^#.*$/gm, "")
    .replace('extern "C" {', "")
    // A structure is one declaration: its fields end with semicolons, too.
    .match(/typedef struct \w+ \{.*?\} \w+;|[^;{}]+;/gs)
  return [
    ...constants.map(([, name, value]) => `${name} = ${value}`),
    ...(declarations ?? []).map((one) => one.trim().replaceAll(/\s+/g, " ")),
  ]
}

/** A library accepts earlier versions, and reads the size of a signet_host before its fields: both may only grow. */
const grown: readonly { readonly of: RegExp; readonly isCompatible: (before: string, now: string) => boolean }[] = [
  { of: /^SIGNET_ABI_VERSION = /, isCompatible: (before, now) => versionOf(now) >= versionOf(before) },
  {
    of: /^typedef struct signet_host \{/,
    isCompatible: (before, now) => now.startsWith(before.slice(0, -"} signet_host;".length)),
  },
]
const versionOf = (line: string) => Number.parseInt(line.split(" = ")[1] ?? "", 10)

/** @returns The lines of an earlier interface that a program built with it relies on, and that the new one breaks. */
export function brokenLines(before: readonly string[], now: readonly string[]): readonly string[] {
  const isKept = (line: string) => {
    const rule = grown.find(({ of }) => of.test(line))
    return rule === undefined
      ? now.includes(line)
      : now.some((one) => rule.of.test(one) && rule.isCompatible(line, one))
  }
  return before.filter((line) => !isKept(line))
}

if (import.meta.filename === process.argv[1]) console.log(readAbi().join("\n"))
