// Writes beside the report what vitest's JSON does not name: the errors of files and hooks, which skip their tests, and the
// files that ran in the short form because the time for the longer one was over.
import { writeFileSync } from "node:fs"
import type { Reporter } from "vitest/node"
import { isShortened } from "./effort.ts"

export interface ReportNotes {
  readonly errors: readonly {
    /** Path of the file. */
    readonly file: string
    readonly message: string
  }[]
  /** Paths of files. */
  readonly shortened: readonly string[]
}

/** @param report Path of vitest's JSON report. */
export const notesOf = (report: string): string => `${report}.notes`

export function reportNotes(report: string): Reporter {
  const shortened: string[] = []
  return {
    // A file chooses its effort before it collects its tests, so none is missing here.
    onTestModuleCollected(module) {
      if (isShortened(Date.now() - module.diagnostic().collectDuration)) shortened.push(module.moduleId)
    },
    onTestRunEnd(modules) {
      const errors = modules.flatMap((module) =>
        [...module.errors(), ...[...module.children.allSuites()].flatMap((suite) => suite.errors())].map(
          ({ stack, message }) => ({ file: module.moduleId, message: stack ?? message }),
        ),
      )
      const notes: ReportNotes = { errors, shortened }
      writeFileSync(notesOf(report), JSON.stringify(notes))
    },
  }
}
