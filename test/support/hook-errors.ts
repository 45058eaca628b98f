// Writes the errors of files and hooks beside the report: vitest's JSON names neither, and skips their tests.
import { writeFileSync } from "node:fs"
import type { Reporter } from "vitest/node"

export interface HookError {
  /** Path of the file. */
  readonly file: string
  readonly message: string
}

/** @param report Path of vitest's JSON report. */
export const hookErrorsOf = (report: string): string => `${report}.hooks`

export function hookErrors(report: string): Reporter {
  return {
    onTestRunEnd(modules) {
      const found: HookError[] = []
      for (const module of modules) {
        const errors = [...module.errors(), ...[...module.children.allSuites()].flatMap((suite) => suite.errors())]
        for (const { stack, message } of errors) found.push({ file: module.moduleId, message: stack ?? message })
      }
      writeFileSync(hookErrorsOf(report), JSON.stringify(found))
    },
  }
}
