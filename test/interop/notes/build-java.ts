// The Java program, built from its sources and from stubs of the contract; kept for as long as nothing changes.
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { programPath } from "./program-path.ts"
import { makeWorkspace, root } from "./workspace.ts"

const sources = join(root, "test/interop/java")
const guard = join(root, "guards/java")

/** Both in one build: the service takes the guard from beside it. */
const both = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>signet.example</groupId>
  <artifactId>both</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <modules>
    <module>guards/java</module>
    <module>java</module>
  </modules>
</project>
`

/** Why the program cannot be built here, or undefined when it can. */
export function javaMissing(): string | undefined {
  try {
    const version = execFileSync("javac", ["-version"], { encoding: "utf8", stdio: "pipe" })
    if (Number(/\d+/.exec(version)?.[0]) < 17) return "no Java 17"
    execFileSync("mvn", ["-q", "-B", "-ntp", "dependency:resolve"], { cwd: guard, stdio: "ignore" })
    return undefined
  } catch {
    return "no Java 17, no Maven, or its artifacts cannot be had"
  }
}

/** @returns The command that runs the program. */
export function buildJava(): readonly [string, ...string[]] {
  const program = programPath("java", sources, guard)
  // Most of a start is compiling what runs once.
  const command = ["java", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp"] as const
  const run = [...command, `${program}/classes:${program}/lib/*`, "signet.example.notes.Main"] as const
  if (existsSync(program)) return run
  const workspace = makeWorkspace()
  try {
    const module = join(workspace, "java")
    cpSync(sources, module, { recursive: true })
    const filter = (path: string) => basename(path) !== "target"
    cpSync(guard, join(workspace, "guards/java"), { recursive: true, filter })
    writeFileSync(join(workspace, "pom.xml"), both)
    // Maven writes errors to its standard output.
    execFileSync("mvn", ["-q", "-B", "-ntp", "-Dmaven.test.skip=true", "package"], {
      cwd: workspace,
      stdio: ["ignore", 2, 2],
    })
    for (const part of ["classes", "lib"]) {
      cpSync(join(module, "target", part), join(`${program}.${process.pid}`, part), { recursive: true })
    }
    renameSync(`${program}.${process.pid}`, program)
    return run
  } finally {
    rmSync(workspace, { recursive: true, force: true })
  }
}
