import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { beforeAll, describe, expect, test } from "vitest"
import { effort } from "../support/effort.ts"
import { buildConsumer } from "./guard-java/consumer.ts"
import { guard, javaMissing, maven, root } from "./guard-java/maven.ts"
import { reasonsText } from "./guard-java/reasons.ts"

const sources = join(guard, "src/main/java/dev/signet/guard")
const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".java"))

test("Reason.java has the reasons, statuses and messages of the kernel", () => {
  const isSame = readFileSync(join(sources, "Reason.java"), "utf8") === reasonsText()
  expect(isSame, "run node test/interop/guard-java/write-reasons.ts").toBe(true)
})

test.each(files)("every public type of %s is documented, and its lines are short", (file) => {
  const lines = readFileSync(join(sources, file), "utf8").split("\n")
  const bare = lines.filter(
    (line, i) => /^ *public .*\b(class|interface|enum|record) \w/.test(line) && !/\*\/$|^ *@/.test(lines[i - 1] ?? ""),
  )
  expect(bare).toEqual([])
  // A message is one line.
  expect(lines.filter((line) => line.length > 120 && !/^ *"[^"]*"\),$/.test(line))).toEqual([])
  expect(lines.length).toBeLessThan(350)
})

// A first build takes a minute, and the mutants as long.
const missing = effort(() => "npm run test:long runs it", javaMissing, javaMissing)()
const long = 600_000

if (missing !== undefined) test.skip(`the guard for Java: ${missing}`, () => {})
else
  describe("the guard for Java", () => {
    let classPath = ""
    const java = (...program: string[]) => {
      const options = [`-Dvectors=${join(root, "server/guard/vectors")}`, "-cp", classPath]
      const { status, stdout, stderr } = spawnSync("java", [...options, ...program], { encoding: "utf8" })
      if (status !== 0) throw new Error(`java ${program[0]}: ${(stdout + stderr).slice(-2_000)}`)
      return stdout
    }
    beforeAll(() => {
      maven(guard, "test-compile")
      const written = join(guard, "target/class-path")
      maven(guard, "dependency:build-classpath", "-DincludeScope=test", `-Dmdep.outputFile=${written}`)
      classPath = [
        join(guard, "target/classes"),
        join(guard, "target/test-classes"),
        readFileSync(written, "utf8"),
      ].join(":")
    }, long)

    test(
      "passes its tests: every vector, by gRPC and by HTTP",
      () => {
        maven(guard, "package")
        const reports = join(guard, "target/surefire-reports")
        const suites = readdirSync(reports).filter((name) => name.endsWith(".xml"))
        const ran = suites.map((name) => Number(/ tests="(\d+)"/.exec(readFileSync(join(reports, name), "utf8"))?.[1]))
        expect(ran.reduce((sum, one) => sum + one, 0)).toBeGreaterThan(1_700)
        const built = readdirSync(join(guard, "target")).filter((name) => name.endsWith(".jar"))
        expect(built.sort()).toEqual(["signet-guard-0.1.0-sources.jar", "signet-guard-0.1.0.jar"])
      },
      long,
    )

    test(
      "misses a vector for each check that is removed",
      () => {
        const folders = ["src/main/java/dev/signet/guard", "target/classes", "target/test-classes"]
        // At night all of them.
        const every = effort(8, 8, 1)
        const told = java(
          `-Devery=${every}`,
          "dev.signet.guard.Mutants",
          ...folders.map((folder) => join(guard, folder)),
        )
        const count = Number(/^(\d+) mutants, survivors: 0$/m.exec(told)?.[1])
        expect(count, told).toBeGreaterThan(100 / every)
      },
      2 * long,
    )

    test(
      "is installed into a folder, and an empty project runs what the README shows",
      () => {
        const folder = mkdtempSync(join(tmpdir(), "signet-maven-"))
        try {
          const options = ["-cp", buildConsumer(folder), "Main"]
          expect(execFileSync("java", options, { encoding: "utf8" })).toBe("UNAUTHENTICATED NO_CREDENTIAL\n")
        } finally {
          rmSync(folder, { recursive: true, force: true })
        }
      },
      long,
    )

    test(
      "verifies in microseconds what it has seen",
      () => {
        const told = java("dev.signet.guard.Benchmark")
        console.log(told)
        const [, , fresh = 0, remembered = 0] = [...told.matchAll(/: ([\d.]+) µs/g)].map(([, micros]) => Number(micros))
        expect(remembered).toBeLessThan(fresh)
      },
      long,
    )
  })
