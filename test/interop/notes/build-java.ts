// The Java program, built from its sources and from stubs of the contract; kept for as long as nothing changes.
import { cpSync, existsSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { guard, maven } from "../guard-java/maven.ts"
import { programPath } from "./program-path.ts"
import { makeWorkspace, root } from "./workspace.ts"

const sources = join(root, "test/interop/java")

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
    maven(workspace, "-Dmaven.test.skip=true", "package")
    for (const part of ["classes", "lib"]) {
      cpSync(join(module, "target", part), join(`${program}.${process.pid}`, part), { recursive: true })
    }
    renameSync(`${program}.${process.pid}`, program)
    return run
  } finally {
    rmSync(workspace, { recursive: true, force: true })
  }
}
