// The guard for Python (guards/python): what it copies from here is the same, and its own tests pass.
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { effort, isLong } from "../support/effort.ts"
import { root } from "./notes/workspace.ts"
import { guardFolder, reasonTable, reasonTablePath } from "./python/reason-table.ts"
import { python, pythonMissing } from "./python/stubs.ts"
import { installed, interpreters } from "./python/venv.ts"

const tests = join(guardFolder, "tests")
const missing = pythonMissing()

test("each reason, status and message is the kernel's", () => {
  const kernel = new Set(reasonTable().split("\n"))
  // A reason that is new in the kernel is none that this guard gives.
  const others = readFileSync(reasonTablePath, "utf8")
    .split("\n")
    .filter((line) => !kernel.has(line))
  expect(others, "run npx node test/interop/python/reason-table.ts").toEqual([])
})

function run(command: string, parts: readonly string[], path = guardFolder): string {
  const env = { ...process.env, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: "1" }
  return execFileSync(command, parts, { cwd: tests, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })
}

describe.skipIf(missing !== undefined)(`with the system's packages${missing ? ` (skipped: ${missing})` : ""}`, () => {
  test.runIf(isLong)("the stubs are the contract's", () => {
    const folder = mkdtempSync(join(tmpdir(), "signet-stubs-"))
    try {
      const image = join(folder, "image.binpb")
      execFileSync(join(root, "node_modules/.bin/buf"), ["build", "proto", "--as-file-descriptor-set", "-o", image], {
        cwd: root,
      })
      run(python, ["check_stubs.py", image])
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  // gRPC takes most of the time; in `npm test` the notes service in Python shows it.
  const quick = ["test_vectors", "test_requirements", "test_http", "test_decisions.Decisions.test_wsgi"]
  test.runIf(isLong)("its unit tests pass", () => {
    run(python, ["-m", "unittest", ...effort(quick, ["discover"], ["discover"])])
  })
})

/** For installing packages, and for some hundred runs of the vectors: most of a minute, on a machine without other work. */
const timeout = 600_000

// Installs from the registry by pip: the long form alone.
const uninstallable = effort(() => "the long form alone", installed.missing, installed.missing)()
describe.skipIf(uninstallable !== undefined)(
  `installed${uninstallable ? ` (skipped: ${uninstallable})` : ""}`,
  { timeout },
  () => {
    const folder = mkdtempSync(join(tmpdir(), "signet-guard-python-"))
    let wheel: string
    beforeAll(() => {
      wheel = installed.buildWheel(folder)
    }, timeout)
    afterAll(() => rmSync(folder, { recursive: true, force: true }))

    test("the wheel has the package, its types and the stubs, and nothing else", () => {
      const files = installed.filesOf(wheel)
      expect(files).toContain("signet_guard/py.typed")
      expect(files).toContain("signet/authz/v1/requirement_pb2.py")
      expect(
        files.filter(
          (file) =>
            !/^(signet_guard\/\w+\.py|signet_guard\/py\.typed|signet\/authz\/v1\/\w+_pb2\.pyi?|signet_guard-[^/]+\.dist-info\/.+)$/.test(
              file,
            ),
        ),
      ).toEqual([])
    })

    test.each(interpreters())("all tests pass on %s with the newest and the oldest packages", (_, command) => {
      for (const packages of installed.packagesFor(command)) {
        const venv = installed.makeVenv(folder, command, [`${wheel}[grpc]`, ...packages])
        // Without PYTHONPATH: what is installed is what is tested.
        run(venv, ["-m", "unittest", "discover"], "")
      }
    })

    test("verifies without grpcio and protobuf", () => {
      const venv = installed.makeVenv(folder, python, [wheel])
      run(venv, ["-m", "unittest", "test_vectors", "test_http"], "")
    })

    test("its types are strict, and its README runs", () => {
      const frameworks = ["flask", "fastapi", "httpx", "django", "pyjwt", "grpcio-tools"]
      const venv = installed.makeVenv(folder, python, [
        `${wheel}[grpc]`,
        "mypy",
        "types-protobuf",
        "types-grpcio",
        ...frameworks,
      ])
      run(venv, [
        "-m",
        "mypy",
        "--config-file",
        "../pyproject.toml",
        "--cache-dir",
        join(folder, "mypy"),
        "../signet_guard",
      ])
      const whole = "import unittest; r = unittest.main('test_readme', exit=False).result; print(r.testsRun, r.skipped)"
      expect(run(venv, ["-c", whole], "").trim()).toBe("6 []")
    })
  },
)

describe.skipIf(missing !== undefined || effort(true, false, false))(
  "with one check removed at a time",
  { timeout },
  () => {
    test("a vector fails for each", () => {
      // At night all of them.
      expect(run(python, ["mutants.py", `--every=${effort(8, 8, 1)}`])).toMatch(
        /^(\d+) of \1 removed checks were noticed$/m,
      )
    })
  },
)
