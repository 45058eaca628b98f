// The paths of delegation, and their layout as a picture of three columns: subjects, acting services, called services.

export interface PathNode {
  /** Equal for the same object in several paths. */
  readonly key: string
  readonly name: string
  /** Shown below the name, where the name is not the id. */
  readonly id?: string
  /** The screen of the object. */
  readonly to?: string
}

/** A subject, a service that acts for it, and the services that are called. */
export interface Path {
  /** Id of the policy or of the standing delegation. */
  readonly id: string
  readonly subject: PathNode
  readonly actor: PathNode
  readonly audiences: readonly string[]
  readonly scopes: readonly string[]
  /** True if the service can act while the person is offline. */
  readonly isStanding: boolean
  /** When a standing delegation ends, in milliseconds. */
  readonly endsAtMs?: number | undefined
  readonly until: string
  readonly isStopped: boolean
}

export interface DrawnNode extends PathNode {
  /** The earliest end of the standing delegations through the node; only for subjects. */
  readonly endsAtMs?: number | undefined
}

export interface DrawnEdge {
  readonly key: string
  /** The column on the left of the edge. */
  readonly column: 0 | 1
  /** Heights of both ends, as parts of the picture's height. */
  readonly from: number
  readonly to: number
  readonly isStanding: boolean
  /** Keys of the nodes on the paths through the edge. */
  readonly nodes: ReadonlySet<string>
}

export interface Drawing {
  readonly columns: readonly [readonly DrawnNode[], readonly DrawnNode[], readonly DrawnNode[]]
  readonly edges: readonly DrawnEdge[]
  /** Number of nodes in the longest column. */
  readonly rows: number
  /** Number of subjects of all paths, of which the picture has the first. */
  readonly subjectCount: number
}

/** Subjects of a picture. More would make the picture longer than its list is. */
const mostSubjects = 24

/** Key of the signed-in person as the subject of their own delegations. */
export const youKey = "you"

export const audienceKey = (audience: string): string => `audience ${audience}`

/** The keys of all nodes on a path. */
export const keysOf = ({ subject, actor, audiences }: Path): readonly string[] => [
  subject.key,
  actor.key,
  ...audiences.map(audienceKey),
]

/** The chosen key, unless its last path is gone. */
export const chosenIn = (paths: readonly Path[], chosen: string | undefined): string | undefined =>
  chosen !== undefined && paths.some((path) => keysOf(path).includes(chosen)) ? chosen : undefined

/** Lays out the paths that are not stopped, in their order. */
export function drawPaths(paths: readonly Path[]): Drawing {
  const active = paths.filter(({ isStopped }) => !isStopped)
  const subjects = distinct(active.map(({ subject }) => subject))
  const shown = new Set(subjects.slice(0, mostSubjects).map(({ key }) => key))
  const drawn = active.filter(({ subject }) => shown.has(subject.key))
  const columns = [
    subjects.slice(0, mostSubjects).map((node) => ({ ...node, endsAtMs: firstEnd(drawn, node.key) })),
    distinct(drawn.map(({ actor }) => actor)),
    distinct(drawn.flatMap(({ audiences }) => audiences.map((name) => ({ key: audienceKey(name), name })))),
  ] as const
  const height = (column: 0 | 1 | 2, key: string): number => {
    const nodes = columns[column]
    return (nodes.findIndex((node) => node.key === key) + 0.5) / nodes.length
  }
  const edges = new Map<string, DrawnEdge>()
  const add = (path: Path, column: 0 | 1, from: string, to: string) => {
    const key = `${column} ${from} ${to}`
    const before = edges.get(key)
    edges.set(key, {
      ...{ key, column, from: height(column, from), to: height(column === 0 ? 1 : 2, to) },
      // Drawn as a policy where both kinds share the edge: the policy allows more.
      isStanding: path.isStanding && before?.isStanding !== false,
      nodes: new Set([...(before?.nodes ?? []), ...keysOf(path)]),
    })
  }
  for (const path of drawn) {
    add(path, 0, path.subject.key, path.actor.key)
    for (const audience of path.audiences) add(path, 1, path.actor.key, audienceKey(audience))
  }
  const rows = Math.max(...columns.map(({ length }) => length))
  return { columns, edges: [...edges.values()], rows, subjectCount: subjects.length }
}

function firstEnd(paths: readonly Path[], subjectKey: string): number | undefined {
  const ends = paths.flatMap(({ subject, endsAtMs }) =>
    subject.key === subjectKey && endsAtMs !== undefined ? [endsAtMs] : [],
  )
  return ends.length === 0 ? undefined : Math.min(...ends)
}

const distinct = (nodes: readonly PathNode[]): readonly PathNode[] => [
  ...new Map(nodes.map((node) => [node.key, node])).values(),
]
