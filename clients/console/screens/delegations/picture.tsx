import type { ReactNode } from "react"
import { t } from "../../text/delegation.ts"
import { type DrawnEdge, type DrawnNode, drawPaths, keysOf, type Path } from "./paths.ts"

/** Height of a node with its margin, in pixels. */
const rowHeight = 76

interface PictureProps {
  readonly paths: readonly Path[]
  /** Key of the chosen node: its paths are emphasized. */
  readonly chosen: string | undefined
  readonly onChoose: (key: string | undefined) => void
}

/** Draws the paths from subjects over acting services to called services. The list of the same paths is its text. */
export function Picture({ paths, chosen, onChoose }: PictureProps): ReactNode {
  const { columns, edges, rows, subjectCount } = drawPaths(paths)
  if (rows === 0) return null
  const height = rows * rowHeight
  const onPath = new Set(
    paths.map(keysOf).flatMap((keys) => (chosen !== undefined && keys.includes(chosen) ? keys : [])),
  )
  const stateOf = (isOn: boolean) => (chosen === undefined ? "" : isOn ? " delegation-on" : " delegation-off")
  const column = (index: 0 | 1 | 2) => (
    <ul className="delegation-column" aria-label={t.columns[index]}>
      {columns[index].map((node) => (
        <li key={node.key}>
          <button
            type="button"
            className={`delegation-node delegation-node-${index}${stateOf(onPath.has(node.key))}`}
            aria-pressed={chosen === node.key}
            title={node.name}
            onClick={() => onChoose(chosen === node.key ? undefined : node.key)}
          >
            <NodeText node={node} />
          </button>
        </li>
      ))}
    </ul>
  )
  const lines = (index: 0 | 1) => (
    <Lines
      edges={edges.filter((edge) => edge.column === index)}
      {...{ height }}
      classOf={({ nodes, isStanding }) =>
        `delegation-edge${isStanding ? " delegation-standing" : ""}${stateOf(chosen !== undefined && nodes.has(chosen))}`
      }
    />
  )
  return (
    <figure className="delegation-picture">
      <div className="delegation-heads" aria-hidden="true">
        {t.columns.map((name) => (
          <span key={name}>{name}</span>
        ))}
      </div>
      <div className="delegation-columns">
        {column(0)}
        {lines(0)}
        {column(1)}
        {lines(1)}
        {column(2)}
      </div>
      <figcaption className="signet-muted">
        {t.legend} {subjectCount > columns[0].length && t.drawn(columns[0].length, subjectCount)}
      </figcaption>
    </figure>
  )
}

function NodeText({ node: { name, endsAtMs } }: { node: DrawnNode }): ReactNode {
  return (
    <>
      <span className="delegation-name">{name}</span>
      {endsAtMs !== undefined && <span className="delegation-end">{t.until(t.day(endsAtMs))}</span>}
    </>
  )
}

interface LinesProps {
  readonly edges: readonly DrawnEdge[]
  readonly height: number
  readonly classOf: (edge: DrawnEdge) => string
}

/** The edges between two columns. Each column divides the height equally among its nodes. */
function Lines({ edges, height, classOf }: LinesProps): ReactNode {
  return (
    <svg
      className="delegation-lines"
      viewBox={`0 0 100 ${height}`}
      height={height}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {edges.map((edge) => {
        const [from, to] = [edge.from * height, edge.to * height]
        return <path key={edge.key} className={classOf(edge)} d={`M0,${from} C50,${from} 50,${to} 100,${to}`} />
      })}
    </svg>
  )
}
