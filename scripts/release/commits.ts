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

interface Commits {
  /** Version tag of the last release; undefined before the first one. */
  readonly tag: string | undefined
  /** Subjects since that release, oldest first. */
  readonly subjects: readonly string[]
}

/** The notes of this commit: `CHANGELOG.md`'s section of the version, and the commits since the last release. */
export function releaseNotes(version: string, changelog: string): string {
  const tag = lastTag()
  const range = tag === undefined ? [] : [`${tag}..HEAD`]
  const subjects = git("log", "--no-merges", "--reverse", "--format=%s", ...range).split("\n")
  return writeNotes(version, changelog, { tag, subjects })
}

/** Groups subjects by area: `server/node: …` belongs to `server`. */
export function writeNotes(version: string, changelog: string, { tag, subjects }: Commits): string {
  const areas = new Map<string, string[]>()
  for (const subject of subjects) {
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
