// The guards of other languages as their package managers find them: a wheel, a module proxy and a local repository.
import { execFileSync } from "node:child_process"
import { cpSync } from "node:fs"
import { join } from "node:path"
import { publishGoModule } from "./go-proxy.ts"

/** @returns Settings for pip, go and Maven. @throws when the machine lacks one of them. */
export function publishGuards(root: string, into: string): Readonly<Record<string, string>> {
  // Copies, because a build writes beside its sources.
  for (const folder of ["guards/python", "guards/java", "proto"]) {
    cpSync(join(root, folder), join(into, folder), { recursive: true })
  }
  const wheel = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "wheels", "./guards/python"]
  execFileSync("python3", wheel, { cwd: into })
  const repository = `-Dmaven.repo.local=${join(into, "m2")}`
  const cwd = join(into, "guards/java")
  execFileSync("mvn", ["-q", "-B", "-ntp", "-Dmaven.test.skip", repository, "install"], { cwd })
  return {
    PIP_FIND_LINKS: `${process.env.PIP_FIND_LINKS ?? ""} ${join(into, "wheels")}`.trim(),
    MAVEN_OPTS: repository,
    ...publishGoModule(join(root, "guards/go"), join(into, "go")),
  }
}
