import type { Argument, Command, Option } from "commander"

interface Candidate {
  readonly word: string
  readonly description: string
}

/**
 * Returns the candidates for the last word of a command line.
 *
 * @param words The words after `signet`. The last word is being typed, and may be empty.
 */
export function complete(program: Command, words: readonly string[]): readonly Candidate[] {
  const before = words.slice(0, -1)
  const typed = words.at(-1) ?? ""
  let at = program
  let position = 0
  let expects: Option | undefined
  for (const word of before) {
    if (expects !== undefined) {
      expects = expects.variadic ? expects : undefined
      if (!word.startsWith("-")) continue
    }
    if (word.startsWith("-")) {
      const option = optionsOf(at).find(({ long, short }) => long === word || short === word)
      expects = option?.required || option?.optional ? option : undefined
      continue
    }
    const inner =
      position === 0 ? at.commands.find((one) => one.name() === word || one.aliases().includes(word)) : undefined
    if (inner === undefined) position++
    else at = inner
  }
  return candidates(at, program, { expects, position, typed }).filter(({ word }) => word.startsWith(typed))
}

function candidates(
  at: Command,
  program: Command,
  { expects, position, typed }: { expects: Option | undefined; position: number; typed: string },
): readonly Candidate[] {
  if (expects !== undefined) return (expects.argChoices ?? []).map((word) => ({ word, description: "" }))
  if (typed.startsWith("-")) {
    return optionsOf(at).flatMap(({ long, description, hidden }) =>
      long && !hidden ? [{ word: long, description }] : [],
    )
  }
  if (at.commands.length > 0 && position > 0) return []
  if (at.commands.length > 0) {
    const inner = at.commands
      .filter((one) => !isHidden(one))
      .map((one) => ({ word: one.name(), description: one.description() }))
    return at === program ? [...inner, { word: "help", description: "Show help." }] : inner
  }
  const argument: Argument | undefined =
    at.registeredArguments[position] ?? at.registeredArguments.findLast(({ variadic }) => variadic)
  return (argument?.argChoices ?? []).map((word) => ({ word, description: "" }))
}

/** The options that the help of the command lists, with those of its parents. */
const optionsOf = (at: Command): readonly Option[] => {
  const help = Object.assign(at.createHelp(), { showGlobalOptions: true })
  return [...help.visibleOptions(at), ...help.visibleGlobalOptions(at)]
}

const isHidden = (command: Command): boolean => command.name().startsWith("__")
