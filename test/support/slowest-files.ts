// Prints the slowest files at the end of a run, so that authors see the cost of new tests.
import type { Reporter, TestModule } from "vitest/node"

interface Cost {
  readonly file: string
  readonly importMs: number
  readonly testMs: number
  readonly tests: number
}

function costOf(module: TestModule): Cost {
  const { collectDuration, setupDuration, duration } = module.diagnostic()
  return {
    file: module.relativeModuleId,
    importMs: collectDuration + setupDuration,
    testMs: duration,
    tests: [...module.children.allTests()].length,
  }
}

/** @param count Number of files to print. Prints nothing for runs of fewer files. */
export function slowestFiles(count = 10): Reporter {
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`.padStart(7)
  return {
    onTestRunEnd(modules) {
      if (modules.length <= count) return
      const costs = modules.map(costOf).toSorted((a, b) => b.importMs + b.testMs - a.importMs - a.testMs)
      const all = costs.reduce((sum, { importMs, testMs }) => sum + importMs + testMs, 0)
      const lines = costs
        .slice(0, count)
        .map(({ file, importMs, testMs, tests }) => `${seconds(importMs + testMs)}  ${file} (${tests})`)
      console.log(`\nThe ${count} slowest of ${modules.length} files, of ${seconds(all).trim()} in all (tests):`)
      console.log(lines.join("\n"))
    },
  }
}
