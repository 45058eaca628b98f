// Maven on the guard for Java.
import { execFileSync } from "node:child_process"
import { join } from "node:path"

export const root: string = join(import.meta.dirname, "../../..")
export const guard: string = join(root, "guards/java")

/** Runs Maven. Its output is in the error, when it fails. */
export function maven(cwd: string, ...parts: string[]): string {
  try {
    return execFileSync("mvn", ["-q", "-B", "-ntp", ...parts], { cwd, encoding: "utf8", stdio: "pipe" })
  } catch (error) {
    const said = error instanceof Error && "stdout" in error ? String(error.stdout) : ""
    throw new Error(`mvn ${parts.join(" ")}\n${said.slice(-8_000)}`, { cause: error })
  }
}

/** Why nothing of it can run here, or undefined when it can. */
export function javaMissing(): string | undefined {
  try {
    const version = execFileSync("javac", ["-version"], { encoding: "utf8", stdio: "pipe" })
    if (Number(/\d+/.exec(version)?.[0]) < 17) return "no Java 17"
    maven(guard, "dependency:resolve")
    return undefined
  } catch {
    return "no Java 17, no Maven, or its artifacts cannot be had"
  }
}
