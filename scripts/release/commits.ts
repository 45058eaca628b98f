// What git knows of the released commit.
import { execFileSync } from "node:child_process"
import { root } from "../packages/plan.ts"

const git = (...args: string[]): string => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim()

export interface Source {
  readonly commit: string
  /** Unix time of the commit. */
  readonly seconds: number
  /** True if files differ from the commit. */
  readonly isDirty: boolean
}

export function readSource(): Source {
  const [commit = "", seconds = ""] = git("log", "-1", "--format=%H %ct").split(" ")
  return { commit, seconds: Number(seconds), isDirty: git("status", "--porcelain") !== "" }
}

/** The newest version tag that precedes the commit; undefined before the first release. */
function lastTag(): string | undefined {
  return (
    git("tag", "--list", "v*", "--merged", "HEAD", "--no-contains", "HEAD", "--sort=-v:refname").split("\n")[0] ||
    undefined
  )
}

/** Subjects since the last release, by area: `server/node: …` belongs to `server`. */
export function releaseNotes(version: string, changelog: string): string {
  const tag = lastTag()
  const areas = new Map<string, string[]>()
  const range = tag === undefined ? [] : [`${tag}..HEAD`]
  for (const subject of git("log", "--no-merges", "--reverse", "--format=%s", ...range).split("\n")) {
    const area = /^([\w./ -]+): /.exec(subject)?.[1]?.split("/")[0] ?? "other"
    areas.set(area, [...(areas.get(area) ?? []), subject])
  }
  const sorted = [...areas].sort(([a], [b]) => (a < b ? -1 : 1))
  const section = new RegExp(
    `^## ${version.replaceAll(".", "\\.")}\\b.*\\n([\\s\\S]*?)(?=^## |(?![\\s\\S]))`,
    "m",
  ).exec(changelog)?.[1]
  // The first release has no predecessor: its commits are counted, because a list of all would hide the rest.
  const commits = sorted.map(([area, subjects]) =>
    tag === undefined
      ? `- ${area}: ${subjects.length} commits`
      : `### ${area}\n\n${subjects.map((subject) => `- ${subject}`).join("\n")}\n`,
  )
  return [
    `# Signet ${version}\n`,
    section?.trim() ?? "CHANGELOG.md has no section of this version.",
    `\n## Commits since ${tag ?? "the beginning"}\n`,
    ...commits,
    "",
  ].join("\n")
}
